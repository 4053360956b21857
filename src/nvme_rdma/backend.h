/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Backends: where the blocks of namespaces are. A backend belongs to the target, an engine to a
 * worker: it executes requests to any backend. One thread at a time uses an engine.
 */
#ifndef ADV_NVME_RDMA_BACKEND_H
#define ADV_NVME_RDMA_BACKEND_H

#include <stdbool.h>
#include <stdint.h>

#include "nvme/target.h"

struct adv_nvme_backend;
struct adv_nvme_engine;

/*
 * Opens what `text` names: "ram:SIZE" (memory, SIZE as 64MiB or 1GB), or the path of a regular file
 * or block device. A size that is not a multiple of the block is rounded down. NULL: prints the
 * reason to standard error.
 */
struct adv_nvme_backend *adv_nvme_backend_open(const char *text, bool read_only);
void adv_nvme_backend_close(struct adv_nvme_backend *b);
uint64_t adv_nvme_backend_size(const struct adv_nvme_backend *b);
/* True if deallocated ranges use no space. */
bool adv_nvme_backend_thin(const struct adv_nvme_backend *b);
/* An identifier that stays the same for the same file; random for memory. */
void adv_nvme_backend_uuid(const struct adv_nvme_backend *b, uint8_t uuid[ADV_NVME_UUID_LEN]);

/* Makes an engine, whose completions signal the eventfd `wake`. NULL and errno. */
struct adv_nvme_engine *adv_nvme_engine_create(int wake);
/* Nothing is in execution. */
void adv_nvme_engine_destroy(struct adv_nvme_engine *e);

/* Starts a request. True: it has ended with *status. False: adv_nvme_engine_next() returns it. */
bool adv_nvme_engine_start(struct adv_nvme_engine *e, struct adv_nvme_request *request,
			   uint16_t *status);
/* Gives the started requests to the kernel. */
void adv_nvme_engine_submit(struct adv_nvme_engine *e);
/* Returns a request that has ended, and its status; NULL: none. */
struct adv_nvme_request *adv_nvme_engine_next(struct adv_nvme_engine *e, uint16_t *status);

#endif
