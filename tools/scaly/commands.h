/* The subcommands. */
#ifndef SCALY_COMMAND_COMMANDS_H
#define SCALY_COMMAND_COMMANDS_H

#include "tools/scaly/options.h"

extern const command_spec command_run, command_export, command_compare, command_show, command_verify, command_check,
    command_cache, command_toolchain;

#endif
