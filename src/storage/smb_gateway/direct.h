/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A connection of SMB Direct on verbs: messages each way, and RDMA READs and WRITEs. It ends the
 * connection of a peer that takes no messages, does not complete one, does not let its memory be
 * read, or is gone.
 */
#ifndef ADV_STORAGE_SMB_GATEWAY_DIRECT_H
#define ADV_STORAGE_SMB_GATEWAY_DIRECT_H

#include <sys/uio.h>

#include "storage/smbdirect/connection.h"
#include "storage/kit/endpoint.h"

struct adv_smb_direct;

struct adv_smb_direct_ops {
	/* The connection is negotiated; its device is `d`. */
	void (*ready)(void *user, struct adv_kit_device *d);
	/* Returns memory for a message. NULL: none is free; adv_smb_direct_resume() follows. */
	uint8_t *(*buffer)(void *user, size_t length);
	/* A message has arrived. The memory belongs to the user again. */
	void (*message)(void *user, uint8_t *buffer, size_t length);
	/* Returns the memory of a message that did not arrive. */
	void (*dropped)(void *user, uint8_t *buffer, size_t length);
	/* The connection has ended, or could not be made; nothing is called any more. reason: what
	 * the peer did wrong, or NULL. */
	void (*closed)(void *user, const char *reason);
};

/* A message to send. The memory belongs to the connection until `done`. */
struct adv_smb_direct_out {
	struct adv_list link;
	struct adv_kit_work before; /* RDMA WRITEs that are executed first; first NULL: none */
	const struct iovec *parts;
	unsigned count;
	size_t length;
	uint64_t since; /* ms */
	uint32_t key;	/* of the peer, to invalidate with the message; 0: none */
	/* ok: the message was sent. It may not close the connection. */
	void (*done)(struct adv_smb_direct_out *out, bool ok);
};

/* RDMA READs that are posted together. The memory belongs to the connection until `done`. */
struct adv_smb_direct_reads {
	struct adv_list link;
	uint64_t since;		  /* ms */
	struct adv_kit_work work; /* first, count: at most ADV_SMB_DIRECT_READS_MAX */
	struct adv_smb_direct *direct;
	/* ok: all of them succeeded. */
	void (*done)(struct adv_smb_direct_reads *reads, bool ok);
};
enum { ADV_SMB_DIRECT_READS_MAX = 256 };

struct adv_smb_direct_config {
	const struct adv_smb_direct_ops *ops;
	void *user;
	uint32_t longest; /* message that is received, bytes */
	uint32_t read_write_size;
	/* In which the peer has to take one more message, to complete one, or to let its memory be
	 * read once more. It has to do each of that within ADV_TURN_LATEST times this time. */
	unsigned timeout_ms;
};

/* Accepts a connection, or begins to connect. NULL and errno. */
struct adv_smb_direct *adv_smb_direct_accept(struct adv_loop *l, struct adv_kit_device *d,
					     struct rdma_cm_id *id,
					     const struct rdma_conn_param *param,
					     const struct adv_smb_direct_config *config);
struct adv_smb_direct *adv_smb_direct_connect(struct adv_loop *l, struct adv_connections *c,
					      const struct sockaddr *to,
					      const struct adv_smb_direct_config *config);
/* Ends the connection soon: `closed` is called later. May be called more than once. */
void adv_smb_direct_close(struct adv_smb_direct *d);
/* Memory may be free again. False: there is too little. */
bool adv_smb_direct_resume(struct adv_smb_direct *d);

/* The longest message that the peer receives, and the longest RDMA transfer, bytes. */
uint32_t adv_smb_direct_longest(const struct adv_smb_direct *d);
uint32_t adv_smb_direct_read_write_size(const struct adv_smb_direct *d);

/* Sends a message, of at most adv_smb_direct_longest(), after those before it. */
void adv_smb_direct_send(struct adv_smb_direct *d, struct adv_smb_direct_out *out);
void adv_smb_direct_read(struct adv_smb_direct *d, struct adv_smb_direct_reads *reads);

#endif
