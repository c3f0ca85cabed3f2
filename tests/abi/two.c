/* Two modules of one name, exported with different prefixes, in one program: nothing of theirs clashes. */
#include "a/order.h"
#include "b/order.h"
#include <string.h>

int main(void) {
  a_order_x_t x = {{0.5, -1.0, 2.0, 4.0}};
  b_order_x_t same;
  a_order_y_t ya;
  b_order_y_t yb;
  a_order_z_t za;
  b_order_z_t zb;
  a_order_workspace_t wa;
  memcpy(&same, &x, sizeof x);
  if (a_order_call(&x, &ya, &za, &wa) != 0 || b_order_call(&same, &yb, &zb, NULL) != 0) return 1;
  if (memcmp(ya.data, yb.data, sizeof ya.data) != 0 || memcmp(za.data, zb.data, sizeof za.data) != 0) return 2;
  return a_order_SZ_W == 0 && b_order_SZ_W == 0 ? 0 : 3;
}
