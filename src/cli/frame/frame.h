/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The two commands of `adverb frame`. */
#ifndef ADV_CLI_FRAME_FRAME_H
#define ADV_CLI_FRAME_FRAME_H

#include "cli/command/command.h"

int adv_frame_build_main(int argc, char **argv);
int adv_frame_dissect_main(int argc, char **argv);

#endif
