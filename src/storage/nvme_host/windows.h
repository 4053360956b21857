/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Memory windows of a queue of the host, one for each command that can be under way: a key for the
 * data of one command, which the controller's response invalidates (NVMe over Fabrics 1.1, section
 * 7.3.4.1; IBTA 10.6.7.2.6: type 2).
 */
#ifndef ADV_STORAGE_NVME_HOST_WINDOWS_H
#define ADV_STORAGE_NVME_HOST_WINDOWS_H

#include <infiniband/verbs.h>
#include <stdint.h>

struct adv_nvme_windows;

/* Makes `count` windows. NULL and errno; EOPNOTSUPP: the device has no windows of type 2. */
struct adv_nvme_windows *adv_nvme_windows_create(struct ibv_pd *pd, unsigned count);
/* The queue pair is destroyed, or no window is bound. */
void adv_nvme_windows_destroy(struct adv_nvme_windows *w);

/* Makes the work request that binds a free window to memory of `mr`, for remote reads and writes,
 * and gives it a new key. Returns the index of the window; none is free: -1. */
int adv_nvme_windows_bind(struct adv_nvme_windows *w, struct ibv_mr *mr, uint64_t address,
			  uint64_t length, struct ibv_send_wr *wr);
/* Returns the key of a window that is bound. */
uint32_t adv_nvme_windows_key(const struct adv_nvme_windows *w, int index);
/* Makes the work request that invalidates a bound window, and keeps `user` until it completes. */
void adv_nvme_windows_invalidate(struct adv_nvme_windows *w, int index, void *user,
				 struct ibv_send_wr *wr);
/* The window is invalid: it is free. Returns the user of adv_nvme_windows_invalidate(), or NULL. */
void *adv_nvme_windows_free(struct adv_nvme_windows *w, int index);
/* After the loss of the queue pair: returns each user whose work request has not completed, once;
 * then NULL. */
void *adv_nvme_windows_next_lost(struct adv_nvme_windows *w);

#endif
