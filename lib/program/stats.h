/* Counting what a program does. */
#ifndef SCI_PROGRAM_STATS_H
#define SCI_PROGRAM_STATS_H

#include "lib/program/program.h"

/* Operations, math calls, loads and stores are those of one call of the entry, loops counted by their trips;
 * statements, loops and procedures those of the text. A value counts once in each block that uses it first. Sums that
 * overflow stay at INT64_MAX. */
sc_program_stats sci_program_count(const sci_program *p);

#endif
