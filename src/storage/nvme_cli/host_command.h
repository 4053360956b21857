/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the commands of the host have in common. */
#ifndef ADV_STORAGE_NVME_CLI_HOST_COMMAND_H
#define ADV_STORAGE_NVME_CLI_HOST_COMMAND_H

#include "storage/nvme_host/association.h"
#include "storage/nvme_server/options.h"

/* Connects to a subsystem with `io_queues` queues. NULL: prints the reason. */
struct adv_nvme_association *adv_nvme_cli_connect(const struct adv_nvme_host_options *o,
						  const char *nqn, uint16_t io_queues,
						  size_t memory);
/* Runs an admin command with `length` bytes of data, which is in the association's memory
 * afterwards. False: prints the status. */
bool adv_nvme_cli_admin(struct adv_nvme_association *a, const struct adv_nvme_command *command,
			uint32_t length);
/* Reads the structure of a namespace. False: prints the reason. */
bool adv_nvme_cli_namespace(struct adv_nvme_association *a, uint32_t nsid,
			    struct adv_nvme_identify_namespace *ns);

/* Commands on a range of a namespace. */
struct adv_nvme_run {
	struct adv_nvme_association *a;
	const struct adv_nvme_host_options *o; /* must exist as long as the run */
	uint32_t nsid;
	uint8_t block_shift;
	uint32_t block;		 /* bytes of a command */
	uint64_t offset, length; /* bytes; multiples of block, but for the last part of length */
	unsigned slots;		 /* commands under way; slot i has memory + i * block */
	unsigned reconnects;	 /* after losses */
	bool quick;		 /* fill() takes no time: commands wait for each other */
};

/* Connects, and checks the range against the namespace. False: prints the reason. */
bool adv_nvme_run_open(struct adv_nvme_run *run, const struct adv_nvme_host_options *o);
void adv_nvme_run_close(struct adv_nvme_run *run);

/* Called for a free slot. It fills *offset (relative to the range) and, of a write, the data, and
 * returns the opcode; -1: nothing is left to do. */
typedef int adv_nvme_fill_fn(void *arg, uint64_t now, uint64_t *offset, uint32_t *length,
			     uint8_t *data);
/* Called for each finished command. False: stop. */
typedef bool adv_nvme_done_fn(void *arg, uint8_t opcode, uint64_t offset, uint32_t length,
			      const uint8_t *data, uint64_t ns);

/* Keeps all slots busy until there is nothing to do. After a loss it reconnects, if the options say
 * so, and repeats the commands whose completions are missing. False: prints the reason. */
bool adv_nvme_run_commands(struct adv_nvme_run *run, adv_nvme_fill_fn *fill, adv_nvme_done_fn *done,
			   void *arg);
bool adv_nvme_run_flush(struct adv_nvme_run *run);

#endif
