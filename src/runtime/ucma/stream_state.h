/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The state of an iWARP id's connection (runtime/ucma/stream.h). */
#ifndef ADV_RUNTIME_UCMA_STREAM_STATE_H
#define ADV_RUNTIME_UCMA_STREAM_STATE_H

#include "runtime/ucma/mpa_socket.h"
#include "runtime/ucma/state.h"
#include "nic/iwarp/negotiation.h"

enum adv_ucma_stream_state {
	ADV_UCMA_STREAM_NEW, /* perhaps with a bound socket */
	ADV_UCMA_STREAM_LISTENING,
	ADV_UCMA_STREAM_CONNECTING,
	ADV_UCMA_STREAM_REQUEST_SENT,
	ADV_UCMA_STREAM_REQUEST_AWAITED,  /* accepted, without an id */
	ADV_UCMA_STREAM_REQUEST_RECEIVED, /* the program accepts or rejects it */
	ADV_UCMA_STREAM_REPLY_RECEIVED,	  /* the program establishes the connection */
	ADV_UCMA_STREAM_CONNECTED,
	ADV_UCMA_STREAM_REFUSED, /* by a reply: the peer is to end the connection */
	ADV_UCMA_STREAM_ENDING,	 /* this end has ended the connection: what arrives is discarded */
	ADV_UCMA_STREAM_ENDED,	 /* without a socket */
};

struct adv_ucma_stream {
	struct adv_list timed; /* of ucma->streams.timed */
	struct adv_list child; /* node in the listener's list, or of ucma->streams.orphans */
	struct adv_list children;
	struct adv_ucma *ucma;
	struct adv_ucma_id *id;		  /* NULL: a request is awaited, or the connection ends */
	struct adv_ucma_stream *listener; /* of a request that is awaited, or was refused */
	enum adv_ucma_stream_state state;
	bool rejected;	       /* by the program, which gets no DISCONNECTED */
	int fd;		       /* -1: none */
	struct adv_user *user; /* who has the socket */
	uint64_t due_ms;
	unsigned backlog;
	uint32_t source; /* of a listener's connection: adv_ucma_source_of() */
	uint32_t qpn;	 /* of the program's queue pair; 0: not known */
	bool tos_set;
	uint8_t tos;
	struct adv_mpa_wish wish;
	struct adv_mpa_frame request;
	struct adv_rdmap_config config;
	struct adv_mpa_received received; /* the peer's frame; before, private data for the peer */
};

#endif
