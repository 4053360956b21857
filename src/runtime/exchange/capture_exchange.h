/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The exchange by which `adverb capture` begins a capture of a running program, or of adverbd. The
 * request is passed as in runtime/exchange/fault_exchange.h: adverbd gives the tool a socket and
 * passes its other end to the process. The process makes a ring (runtime/link/tap_ring.h) and sends
 * its memory with the answer. It keeps the socket open: the capture lasts until the tool closes its
 * end, or ends. The tool sees the end of the process in the same way.
 *
 * With ADV_CONTROL_FAULT_CAPTURES adverbd keeps the request. For each slot that is opened later, it
 * makes a pair of sockets, queues a copy of the request, with the slot and its process, for the
 * process, and passes the other end to the tool (ADV_CONTROL_NOTICE_FAULT). The process reads it
 * before it sends its first packet.
 */
#ifndef ADV_RUNTIME_EXCHANGE_CAPTURE_EXCHANGE_H
#define ADV_RUNTIME_EXCHANGE_CAPTURE_EXCHANGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/control/control.h"
#include "runtime/link/tap.h"

#define ADV_CAPTURE_MAGIC   0x41445654u /* "ADVT" */
#define ADV_CAPTURE_VERSION 1

/* Places of taps among the links of a device. */
enum adv_capture_place {
	ADV_CAPTURE_WIRE,   /* between the fault plan and the network */
	ADV_CAPTURE_ENGINE, /* between the engine and the fault plan */
	ADV_CAPTURE_PLACES,
};

/* Request and answer. */
struct adv_capture_message {
	uint32_t magic;
	uint16_t version;
	uint16_t place; /* enum adv_capture_place */
	int32_t result; /* in answers: 0 or errno */
	uint32_t slot;	/* number of the slot; 0: adverbd */
	uint32_t size;	/* bytes of the ring's records; a power of 2; in answers: granted */
	uint32_t limit; /* bytes of each packet to keep, from the BTH on */
	uint32_t pid;	/* the slot's process; the answer repeats it, and comm */
	char comm[16];
	uint32_t zero;
};

/* Reads the queued request. Never blocks, for any kind of descriptor. False: there is none, or it
 * is not of this protocol. */
bool adv_capture_read(int fd, struct adv_capture_message *m);

/* Sends a message, with a descriptor unless memory_fd is -1. Never blocks. 0 or errno. */
int adv_capture_send(int fd, const struct adv_capture_message *m, int memory_fd);

/* True if a request of this protocol is queued in the socket. The request stays queued. */
bool adv_capture_is_asked(int fd);

/*
 * Reads the queued request and begins the capture with the tap of its place. A ring has at most
 * `most` bytes of records. Answers. Never blocks, for any kind of descriptor. Returns true if the
 * tap owns fd now; otherwise the caller closes it.
 */
bool adv_capture_answer(int fd, struct adv_tap taps[ADV_CAPTURE_PLACES], uint32_t slot,
			uint32_t most);

/* A capture as the tool has it. */
struct adv_capture_ring {
	int life; /* socket; readable when the process has ended */
	uint32_t size;
	struct adv_tap_memory *memory;
};

/*
 * Requests a capture of the process with the slot m->slot, or of adverbd (capture_request.c). The
 * caller sets slot, place, size and limit. Fills in *ring, which adv_capture_end() frees. Blocks
 * while adverbd answers, and not until the process does. 0, or errno with a line in why[]: those of
 * adv_control_fault().
 */
int adv_capture_request(struct adv_control *c, const struct adv_capture_message *m,
			struct adv_capture_ring *ring, char *why, size_t why_len);

/*
 * Requests captures of all slots that processes of the user (root: of all users) open from now on.
 * As adv_capture_request(), but for each of them adv_control_take_fault() returns a socket, which
 * becomes the `life` of a ring for adv_capture_receive().
 */
int adv_capture_request_later(struct adv_control *c, const struct adv_capture_message *m, char *why,
			      size_t why_len);

/*
 * Receives the answer to the request into *m. Never blocks. 0: ring->memory and ring->size are
 * valid; or EAGAIN: there is no answer yet; or errno with a line in why[]:
 * - EBUSY: the process has the maximum number of captures.
 * - EPIPE: the process ended, or its version of Adverb is older.
 */
int adv_capture_receive(struct adv_capture_ring *ring, struct adv_capture_message *m, char *why,
			size_t why_len);

/* Makes the process stop writing. Records that are written can still be read. */
void adv_capture_stop(struct adv_capture_ring *ring);

/* True if the process has ended, or its device was closed. */
bool adv_capture_has_ended(const struct adv_capture_ring *ring);

/* Ends the capture and frees the ring. */
void adv_capture_end(struct adv_capture_ring *ring);

#endif
