/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Shared by the test programs that are SMB Direct clients: a connection, messages, and requests of
 * SMB2 to smb_server.py. Functions that cannot go on print a line and exit with status 1.
 */
#ifndef TESTS_CLIENTS_SMB_PEER_H
#define TESTS_CLIENTS_SMB_PEER_H

#include <rdma/rdma_cma.h>

#include "storage/smb2/message.h"
#include "storage/smbdirect/connection.h"

enum {
	PEER_FILE = 4 << 20,   /* bytes of the server's file */
	PEER_MEMORY = 4 << 20, /* bytes of registered memory */
	PEER_MESSAGE = 2 << 20,
	PEER_RECEIVES = 256,
	PEER_SENDS = 16,
	PEER_SIZE = 4096, /* of a SEND, at most */
	SMB_ECHO = 13,
	SMB_LOSE = 100,	 /* smb_server.py */
	SMB_STALL = 101, /* likewise */
};
#define SMB_LATER	    (1ull << 62) /* smb_server.py */
#define STATUS_INVALID	    0xc000000du
#define STATUS_UNSUCCESSFUL 0xc0000001u
#define STATUS_END_OF_FILE  0xc0000011u

struct smb_peer {
	struct rdma_cm_id *id;
	struct ibv_cq *cq;
	struct ibv_mr *mr; /* of `memory`, for remote reads and writes */
	struct ibv_mr *buffers_mr;
	uint8_t *memory, *buffers;
	struct adv_smbd core;
	unsigned sending; /* SENDs that are not completed */
	unsigned next_send;
	uint8_t *message; /* that was received */
	size_t length;
	bool complete;
	/* As Linux does, receives are posted again when their message is complete, and only if the
	 * gateway has fewer credits than it requests; then it gets all. */
	bool lazy;
	unsigned held[PEER_RECEIVES], held_count; /* such receives */
	uint32_t invalidated;			  /* by the last SEND that did so */
	uint64_t message_id;
	bool ended; /* by the gateway */
};

/* Connects and negotiates with these limits; NULL: those of this program. False: refused. */
bool peer_connect(struct smb_peer *p, const char *host, const char *port,
		  const struct adv_smbd_config *config);
/* Connects without a negotiation. False: refused. */
bool peer_connect_only(struct smb_peer *p, const char *host, const char *port,
		       const struct adv_smbd_config *config);
void peer_close(struct smb_peer *p);
/* The limits of this program. */
struct adv_smbd_config peer_config(void);

/* Sends a message. False: the connection has ended. */
bool peer_send(struct smb_peer *p, const uint8_t *message, size_t length);
/* The next message grants as many credits as there are receives. */
void peer_grant_all(struct smb_peer *p);
/* Waits until the gateway takes a message, at most so long. False: it does not, or the connection
 * has ended. */
bool peer_await_credit(struct smb_peer *p, unsigned ms);
/* Sends bytes as they are. */
bool peer_send_raw(struct smb_peer *p, const void *bytes, uint32_t length);
/* Waits for a message, which is then in p->message. False: the connection has ended. */
bool peer_await(struct smb_peer *p);
/* Waits until the connection has ended. */
void peer_await_end(struct smb_peer *p);

/* Writes a header with the next message id at `at`. */
void smb_header(struct smb_peer *p, uint8_t *at, uint16_t command);
/* Writes a READ or WRITE request without a channel. For a WRITE, `length` bytes of data follow it.
 * Returns the length without the data. */
size_t smb_io(struct smb_peer *p, uint8_t *at, uint16_t command, uint64_t offset, uint32_t length);
/* Writes one with a channel and `count` descriptors, which have parts of p->memory from `place`.
 * Returns its length. */
size_t smb_rdma_io(struct smb_peer *p, uint8_t *at, uint16_t command, uint64_t offset,
		   uint32_t length, size_t place, unsigned count);
/* Returns the status of the response at `at` in the received message. */
uint32_t smb_status(const struct smb_peer *p, size_t at);

#endif
