/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The subcommands of adverb-nvme. Each parses its options (argv[0] is its name) and returns the
 * exit status. */
#ifndef ADV_STORAGE_NVME_CLI_COMMAND_H
#define ADV_STORAGE_NVME_CLI_COMMAND_H

int adv_nvme_serve_main(int argc, char **argv);
int adv_nvme_add_main(int argc, char **argv);
int adv_nvme_remove_main(int argc, char **argv);
int adv_nvme_stat_main(int argc, char **argv);
int adv_nvme_discover_main(int argc, char **argv);
int adv_nvme_list_main(int argc, char **argv);
int adv_nvme_identify_main(int argc, char **argv);
int adv_nvme_read_main(int argc, char **argv);
int adv_nvme_write_main(int argc, char **argv);
int adv_nvme_verify_main(int argc, char **argv);
int adv_nvme_bench_main(int argc, char **argv);

#endif
