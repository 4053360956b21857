/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Records over TCP: each is preceded by 4 bytes with its length. RPC calls them fragments of a
 * record (RFC 5531, section 11), SMB has one record a message (MS-SMB2, section 2.1).
 */
#ifndef ADV_STORAGE_KIT_STREAM_H
#define ADV_STORAGE_KIT_STREAM_H

#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "storage/kit/loop.h"

struct adv_stream;

enum adv_stream_framing {
	ADV_STREAM_RPC, /* 31 bits of length; a record may have several fragments */
	ADV_STREAM_SMB, /* a byte that is 0, and 24 bits of length */
};

/* What a stream calls. A function may close the stream, except `buffer`. */
struct adv_stream_ops {
	void (*connected)(void *user); /* adv_stream_connect() only */
	/* Returns memory for a record of `length` bytes, which belongs to the stream until `record`
	 * or `dropped`. NULL: none is free; the stream stops reading until adv_stream_resume()
	 * gets it. If the peer closes the connection meanwhile, what has not been read is lost. */
	uint8_t *(*buffer)(void *user, size_t length);
	void (*record)(void *user, uint8_t *buffer, size_t size, size_t length);
	/* Returns memory of a record that did not arrive. `size` is what `buffer` was called with.
	 */
	void (*dropped)(void *user, uint8_t *buffer, size_t size);
	/* The connection failed or ended; err: why, 0: the peer closed it, EMSGSIZE: a record is
	 * too long, EPROTO: it is none, ETIME: it was not completed in time, ETIMEDOUT: the peer
	 * takes no records. The user calls adv_stream_close(). */
	void (*lost)(void *user, int err);
	enum adv_stream_framing framing;
};

/* A record to send. The memory belongs to the stream until `done`. */
enum { ADV_STREAM_PARTS_MAX = 63 };
struct adv_stream_out {
	struct adv_list link; /* alone: the record does not wait */
	struct iovec *parts;  /* changed while it is sent */
	unsigned count;	      /* at most ADV_STREAM_PARTS_MAX */
	uint64_t since;	      /* ms */
	uint8_t head[4];
	unsigned head_sent;
	/* ok: the whole record was sent. It may not close the stream. */
	void (*done)(struct adv_stream_out *out, bool ok);
};

/* Connects. `limit`: the longest record, bytes. `privileged`: from a port below 1024 if the process
 * may. NULL and errno. */
struct adv_stream *adv_stream_connect(struct adv_loop *l, const struct sockaddr *to,
				      bool privileged, size_t limit,
				      const struct adv_stream_ops *ops, void *user);
/* Makes a stream of an accepted connection. Within the timeout, the peer has to acknowledge what is
 * sent to it, to take one more record, and to complete a record after memory was found for it.
 * Within ADV_TURN_LATEST times the timeout it has to take each record that is sent. The descriptor
 * belongs to the stream. NULL and errno: it belongs to the caller. */
struct adv_stream *adv_stream_accepted(struct adv_loop *l, int fd, unsigned timeout_ms,
				       size_t limit, const struct adv_stream_ops *ops, void *user);
/* Closes the connection. Calls `done` of the records that were not sent. */
void adv_stream_close(struct adv_stream *s);

/* Sends a record of `length` bytes in `out->parts` after those before it. */
void adv_stream_send(struct adv_stream *s, struct adv_stream_out *out, size_t length);
/* Memory may be free again: asks for it. False: there is none. */
bool adv_stream_resume(struct adv_stream *s);

#endif
