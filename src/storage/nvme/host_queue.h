/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A queue of the host: command identifiers, flow control, and which command a completion ends. As
 * the target, it makes no system call. Functions that return int return 0 or a positive errno.
 */
#ifndef ADV_STORAGE_NVME_HOST_QUEUE_H
#define ADV_STORAGE_NVME_HOST_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "storage/nvme/command.h"

struct adv_nvme_host_queue;

/* Makes a queue of `size` entries (2 to 65,535), of which size - 1 can be in use. NULL: no memory.
 */
struct adv_nvme_host_queue *adv_nvme_host_queue_create(uint16_t size);
void adv_nvme_host_queue_destroy(struct adv_nvme_host_queue *q);

/* Gives a command its identifier. EAGAIN: the queue is full. `user` must not be NULL; it returns
 * with the completion. */
int adv_nvme_host_queue_start(struct adv_nvme_host_queue *q, struct adv_nvme_command *command,
			      void *user);
/* Ends the command of a completion, and returns its user. NULL: no such command is outstanding; the
 * controller is broken, and the connection must end. */
void *adv_nvme_host_queue_end(struct adv_nvme_host_queue *q,
			      const struct adv_nvme_completion *completion);
/* After the loss of the connection: ends an outstanding command, whose outcome is unknown, and
 * returns its user. NULL: none is left. */
void *adv_nvme_host_queue_next_lost(struct adv_nvme_host_queue *q);
uint16_t adv_nvme_host_queue_outstanding(const struct adv_nvme_host_queue *q);

#endif
