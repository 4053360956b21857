/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A target with a binding made of memory: host memory is an array, which addresses are offsets of;
 * the backend is another one. Commands execute at once, unless the test holds them. */
#ifndef ADV_TESTS_STORAGE_NVME_TARGET_HARNESS_H
#define ADV_TESTS_STORAGE_NVME_TARGET_HARNESS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "storage/nvme/status.h"
#include "storage/nvme_target/target.h"

#define LAB_MEMORY   (4u << 20)
#define LAB_BLOCKS   4096u
#define LAB_SHIFT    9
#define LAB_HELD_MAX 512
#define LAB_NQN	     "nqn.2026-01.test:disk"
#define LAB_HOST     "nqn.2026-01.test:host"
#define LAB_KEY	     0x1234u

struct lab {
	struct adv_nvme_target *target;
	struct adv_nvme_subsystem *subsystem;
	struct adv_nvme_outbox outbox;
	uint32_t nsid;
	uint64_t now;
	uint8_t *memory; /* of the host */
	uint8_t *disk;
	uint8_t other_host; /* changes the host's identifier */
	bool hold_buffers, hold_fetches, hold_backend;
	bool places; /* Writes are fetched into the disk, and Reads sent from it, if they may be */
	bool hold_sends; /* the host has the response, and the target does not know it */
	struct adv_nvme_request *held[LAB_HELD_MAX]; /* in the order of their actions */
	unsigned held_count;
	uint16_t backend_status; /* of all following requests to the backend */
	unsigned flushes, fuas;
	unsigned receives; /* that the target holds */
	unsigned buffers;  /* allocated */
};

/* One connection. */
struct lab_queue {
	struct lab *lab;
	struct adv_nvme_queue *queue;
	uint16_t next_id;
	unsigned responses;
	struct adv_nvme_completion last; /* response */
	bool invalidated;		 /* the last response invalidates a key */
	bool closed;			 /* CLOSE has come, or the test has closed it */
	bool freed;
};

void lab_create(struct lab *lab, const struct adv_nvme_target_config *config);
void lab_destroy(struct lab *lab);
/* Set-up and teardown of a test whose state is a lab without options. */
int lab_setup(void **state);
int lab_teardown(void **state);
/* Carries out all actions. */
void lab_run(struct lab *lab);
/* Continues the held request `index`. */
void lab_continue(struct lab *lab, unsigned index);

/* A connection request; returns the status. */
enum adv_nvme_cm_status lab_open(struct lab *lab, struct lab_queue *q, uint16_t qid, uint16_t size);
/* Loses the connection. */
void lab_close(struct lab_queue *q);

/* Sends a command, with `len` bytes of data in the capsule if in_capsule. Returns its id. */
uint16_t lab_send(struct lab_queue *q, struct adv_nvme_command *command);
uint16_t lab_send_with(struct lab_queue *q, struct adv_nvme_command *command, const void *data,
		       size_t len);
/* Sends a command and returns the status of its response; fails the test without one. */
uint16_t lab_do(struct lab_queue *q, struct adv_nvme_command *command);

/* Commands with data at offset 0 of the host's memory. */
struct adv_nvme_command lab_command(uint8_t opcode, uint32_t nsid, uint32_t length);
struct adv_nvme_command lab_io(uint8_t opcode, uint64_t slba, uint32_t blocks);
struct adv_nvme_command lab_identify(uint8_t cns, uint32_t nsid);
struct adv_nvme_command lab_log(uint8_t id, uint64_t offset, uint32_t length);
struct adv_nvme_command lab_feature(bool set, uint8_t id, uint32_t value);

/* The Connect command; cntlid ADV_NVME_ANY_CNTLID for the admin queue. */
uint16_t lab_connect(struct lab_queue *q, const char *nqn, uint16_t cntlid, uint32_t kato);
uint16_t lab_connect_as(struct lab_queue *q, const char *host_nqn, const char *nqn, uint16_t cntlid,
			uint32_t kato);
uint16_t lab_set_cc(struct lab_queue *q, uint32_t cc);
uint64_t lab_get(struct lab_queue *q, uint32_t offset, bool wide);
/* An enabled controller with one I/O queue; returns its id. */
uint16_t lab_ready(struct lab *lab, struct lab_queue *admin, struct lab_queue *io, uint32_t kato);

#endif
