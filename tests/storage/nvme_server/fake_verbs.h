/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * An RDMA device made of memory: the functions of libibverbs and librdmacm that a worker calls.
 * Addresses of the host are those of this process. Work requests complete at once. A test is the
 * host: it connects, sends capsules, and reads responses.
 */
#ifndef ADV_TESTS_STORAGE_NVME_SERVER_FAKE_VERBS_H
#define ADV_TESTS_STORAGE_NVME_SERVER_FAKE_VERBS_H

#include <rdma/rdma_cma.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* `purge`: a destroyed queue pair takes its completions from the completion queue, as most devices
 * do; otherwise they stay there, as with rxe. */
struct ibv_context *fake_open(bool purge);
/* All objects have been destroyed. */
void fake_close(struct ibv_context *context);

/* An id as of a connection request. The worker destroys it. */
struct rdma_cm_id *fake_id(struct ibv_context *context);
/* The queue pair of the id that was made last; NULL: none yet, or it is destroyed. */
uint32_t fake_last_qp(void);
bool fake_qp_exists(uint32_t qp_num);
/* The disconnection by the host: work requests of the queue pair fail from now on. */
void fake_break(uint32_t qp_num);

/* Receives a message. `late`: its completion is seen when the queue pair is in the error state. */
void fake_receive(uint32_t qp_num, const void *data, size_t len, bool late);
/* Copies the oldest response of a queue pair. False: none. */
bool fake_response(uint32_t qp_num, uint8_t out[16]);
/* Returns the receives that the shared receive queue has. */
unsigned fake_receives(void);
/* The local address and key of the last RDMA WRITE. */
struct ibv_sge fake_last_write(void);
/* The same of the last RDMA READ that has succeeded. */
struct ibv_sge fake_last_read(void);
/* Sets the path MTU of all queue pairs; at first 4,096 bytes. */
void fake_set_mtu(enum ibv_mtu mtu);
/* Makes the next RDMA READ fail after `bytes` bytes, with its queue pair. */
void fake_fail_read(size_t bytes);
/* Makes the next posts of sends fail. */
void fake_fail_posts(unsigned count);
/* Makes the next rdma_create_qp() fail. */
void fake_fail_qp(void);
/* The next rdma_accept() calls `meanwhile` when the queue pair can receive, and then returns
 * `result`. */
void fake_accept(void (*meanwhile)(uint32_t qp_num), int result);

#endif
