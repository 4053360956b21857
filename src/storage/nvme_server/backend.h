/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Backends: where the blocks of namespaces are. A backend belongs to the target, an engine to a
 * worker: it executes requests to any backend. One thread at a time uses an engine.
 */
#ifndef ADV_STORAGE_NVME_SERVER_BACKEND_H
#define ADV_STORAGE_NVME_SERVER_BACKEND_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>

#include "storage/nvme_target/target.h"

#define ADV_NVME_BACKEND_WHY 512

struct adv_nvme_backend;
struct adv_nvme_engine;

struct adv_nvme_backend_config {
	/* "ram:SIZE" (memory, SIZE as 64M or 1GB), or the path of a regular file or block device.
	 * A size that is not a multiple of the block is rounded down. */
	const char *path;
	bool read_only;
	bool direct; /* O_DIRECT for aligned data, if the file system permits it */
};

/* NULL: `why` is the reason. */
struct adv_nvme_backend *adv_nvme_backend_open(const struct adv_nvme_backend_config *config,
					       char why[ADV_NVME_BACKEND_WHY]);
void adv_nvme_backend_close(struct adv_nvme_backend *b);
uint64_t adv_nvme_backend_size(const struct adv_nvme_backend *b);
/* Reads the size of a file or block device again, and returns it. */
uint64_t adv_nvme_backend_refresh(struct adv_nvme_backend *b);
/* True if deallocated ranges use no space. */
bool adv_nvme_backend_thin(const struct adv_nvme_backend *b);
/* True if aligned data does not pass through the page cache. */
bool adv_nvme_backend_direct(const struct adv_nvme_backend *b);
/* An identifier that stays the same for the same file; random for memory. */
void adv_nvme_backend_uuid(const struct adv_nvme_backend *b, uint8_t uuid[ADV_NVME_UUID_LEN]);

/* Registers the memory of `ram:`, for local access, until the backend is closed. Then a device
 * sends data from there; without a registration, as with other backends, data is copied. No request
 * is in execution.
 *
 * A registration for writing takes the memory at once, also that which nobody uses. So the backend
 * registers an extent for writing when an engine has written so many bytes to it as it is long. */
void adv_nvme_backend_register(struct adv_nvme_backend *b, struct ibv_pd *pd);
/* Ends all registrations. No request is in execution. */
void adv_nvme_backend_deregister(struct adv_nvme_backend *b);
/* Returns the memory of a range within the backend, and its key, if a device may read it there.
 * NULL: it may not. Any thread. */
uint8_t *adv_nvme_backend_memory(const struct adv_nvme_backend *b, uint64_t offset, uint32_t *lkey);
/* The same if a device may write there. What it has returned once stays valid. */
uint8_t *adv_nvme_backend_writable(const struct adv_nvme_backend *b, uint64_t offset,
				   uint64_t length, uint32_t *lkey);
/* Has the processor fetch the blocks of a small Read or Write of `ram:` into its cache, for a copy
 * that follows soon. It does not wait. */
void adv_nvme_backend_fetch(const struct adv_nvme_backend *b, const struct adv_nvme_io *io);

/* Makes an engine. `wake` is an eventfd, which is signalled if adv_nvme_engine_next() has work.
 * `uring` false: by system calls that block, a part of a request at a time. NULL and errno. */
struct adv_nvme_engine *adv_nvme_engine_create(int wake, bool uring);
/* Nothing is in execution. */
void adv_nvme_engine_destroy(struct adv_nvme_engine *e);

/* Starts a request, and uses request->user until its end. True: it has ended with *status. False:
 * adv_nvme_engine_next() returns it. */
bool adv_nvme_engine_start(struct adv_nvme_engine *e, struct adv_nvme_request *request,
			   uint16_t *status);
/* Gives the started requests to the kernel. */
void adv_nvme_engine_submit(struct adv_nvme_engine *e);
/* Returns a request that has ended, and its status; NULL: none. */
struct adv_nvme_request *adv_nvme_engine_next(struct adv_nvme_engine *e, uint16_t *status);

#endif
