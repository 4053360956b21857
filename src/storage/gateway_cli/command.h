/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The subcommands of adverb-gateway. Each parses its options (argv[0] is its name) and returns the
 * exit status. */
#ifndef ADV_STORAGE_GATEWAY_CLI_COMMAND_H
#define ADV_STORAGE_GATEWAY_CLI_COMMAND_H

int adv_gateway_nfs_main(int argc, char **argv);
int adv_gateway_smb_main(int argc, char **argv);
int adv_gateway_stat_main(int argc, char **argv);

#endif
