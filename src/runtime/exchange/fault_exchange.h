/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The exchange between `adverb fault` and a follower of a fault plan: the device of a process, or
 * adverbd.
 *
 * adverbd gives the command one of a pair of SOCK_SEQPACKET sockets (ADV_CONTROL_FAULT). The
 * command sends its request into its socket, and then names the target to adverbd. If the target is
 * adverbd, it answers on the other socket. Otherwise adverbd passes the other socket to the process
 * (ADV_CONTROL_NOTICE_FAULT). The receiver reads the request, answers once, and closes the socket.
 * A plan of any length is one message. Only the command waits. If the process ends, the command
 * sees the end of the socket. If the command has ended, the receiver does not execute the request.
 */
#ifndef ADV_RUNTIME_EXCHANGE_FAULT_EXCHANGE_H
#define ADV_RUNTIME_EXCHANGE_FAULT_EXCHANGE_H

#include "runtime/control/control.h"
#include "nic/fault/decide.h"

#define ADV_FAULT_EXCHANGE_MAGIC   0x41445646u /* "ADVF" */
#define ADV_FAULT_EXCHANGE_VERSION 2
#define ADV_FAULT_EXCHANGE_HITS	   32
#define ADV_FAULT_EXCHANGE_LOST	   (ADV_FAULT_EXCHANGE_HITS - 1) /* index in hits[] */

_Static_assert(ADV_FAULT_ACTIONS <= ADV_FAULT_EXCHANGE_LOST, "room in the message");

/* Why a plan is refused that adv_fault_flow_fits() refuses. */
#define ADV_FAULT_NOT_IWARP                                                                        \
	"an iWARP device has no mark, rnr, tear, length= and icrc=, and no op= and psn= for what " \
	"its connections send: these are of RoCE's packets"

enum adv_fault_command { ADV_FAULT_SHOW = 1, ADV_FAULT_SET, ADV_FAULT_CLEAR };

/* Request and answer. Bytes after text[text_len - 1] are not sent. */
struct adv_fault_exchange_message {
	uint32_t magic;
	uint16_t version;
	uint16_t command;  /* enum adv_fault_command, repeated in the answer */
	int32_t result;	   /* in answers: 0, or errno with the reason in text */
	uint32_t in_force; /* in answers: 1 if a plan is in force; text then has the plan */
	uint32_t slot;	   /* in answers: the device's first slot; 0: adverbd */
	uint64_t packets;  /* packets on which the plan has decided since it began */
	/* Hits by action. The last one counts packets that were lost because the queues had no room
	 * to keep them. */
	uint64_t hits[ADV_FAULT_EXCHANGE_HITS];
	uint32_t text_len;
	char text[ADV_FAULT_TEXT_MAX]; /* no NUL */
};

/* Sends the head and text_len bytes of text. Never blocks. 0 or errno. */
int adv_fault_exchange_send(int fd, const struct adv_fault_exchange_message *m);
/* Receives a message. Never blocks. 0; EAGAIN: no message is queued; EPIPE: the other end is
 * closed; EPROTO: the message is not of this protocol. */
int adv_fault_exchange_receive(int fd, struct adv_fault_exchange_message *m);

/* The functions of a follower of a plan. */
struct adv_fault_exchange_follower {
	/* Returns the state of the plan in force; NULL: none is in force. */
	const struct adv_fault_state *(*state)(void *user);
	/* Puts a plan into force. The plan has a seed. 0 or errno; EOPNOTSUPP: ADV_FAULT_NOT_IWARP.
	 */
	int (*set)(void *user, const struct adv_fault_plan *plan);
	void (*clear)(void *user);
	uint32_t slot; /* the device's first slot; 0: adverbd */
};

/* Reads the queued request, executes it and answers it. Never blocks, for any kind of descriptor.
 * The caller closes the descriptor. seed: for a plan without a seed. */
void adv_fault_exchange_answer(int fd, const struct adv_fault_exchange_follower *f, void *user,
			       uint64_t seed);

/*
 * Sends a request and receives its answer (fault_request.c). The caller sets m->command and, to set
 * a plan, text and text_len; on return m is the answer. 0, or errno with a line in why[]:
 * - EPERM: the target belongs to another user.
 * - ENOENT: the target does not exist.
 * - EPIPE: the target ended, or its version of Adverb is older.
 * - ETIMEDOUT: the target did not answer within wait_ms; it may be stopped.
 * - Others: the result in the answer.
 */
int adv_fault_request(struct adv_control *c, const struct adv_control_fault *target,
		      struct adv_fault_exchange_message *m, int wait_ms, char *why, size_t why_len);

#endif
