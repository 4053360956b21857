/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The subcommands of `adverb fabric`. */
#ifndef ADV_CLI_FABRIC_FABRIC_H
#define ADV_CLI_FABRIC_FABRIC_H

#include "cli/command/command.h"

int adv_fabric_up_main(int argc, char **argv);
int adv_fabric_status_main(int argc, char **argv);
int adv_fabric_top_main(int argc, char **argv);
int adv_fabric_cable_main(int argc, char **argv);
int adv_fabric_capture_main(int argc, char **argv);
int adv_fabric_down_main(int argc, char **argv);
int adv_fabric_rsh_main(int argc, char **argv);

#endif
