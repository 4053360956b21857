/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The state of an RDMAP stream, for the files stream*.c. */
#ifndef ADV_NIC_IWARP_STREAM_INTERNAL_H
#define ADV_NIC_IWARP_STREAM_INTERNAL_H

#include "nic/iwarp/fpdu.h"
#include "nic/iwarp/rdmap.h"
#include "nic/iwarp/stream.h"
#include "nic/queue/qp_state.h"

#define ADV_RDMAP_FRAMED      8 /* FPDUs that are framed ahead; a power of two */
#define ADV_RDMAP_TX_MARKERS  4 /* markers of one FPDU: a stream with markers has short ones */
#define ADV_RDMAP_PIECES      (ADV_MAX_SGE + 1 + 2 + 2 * ADV_RDMAP_TX_MARKERS)
#define ADV_RDMAP_BUILT_MAX   (ADV_DDP_HEADER_MAX + ADV_RDMAP_TERMINATE_MAX)
#define ADV_RDMAP_COLLECT_MAX ADV_RDMAP_TERMINATE_MAX
#define ADV_RDMAP_COPIED      32768 /* longest payload of a segment that is copied */

/* What an FPDU is part of. */
enum adv_rdmap_origin {
	ADV_RDMAP_FROM_REQUEST,	 /* a SEND or WRITE of the send queue */
	ADV_RDMAP_FROM_READ,	 /* a READ request of the send queue */
	ADV_RDMAP_FROM_RESPONSE, /* the answer to a READ of the peer */
	ADV_RDMAP_FROM_ERROR,	 /* Terminate */
	ADV_RDMAP_FROM_START,	 /* ready to receive */
};

/* The message in progress. Messages are not mixed on a stream. */
enum adv_rdmap_sending {
	ADV_RDMAP_SENDING_NOTHING,
	ADV_RDMAP_SENDING_REQUEST,
	ADV_RDMAP_SENDING_RESPONSE,
};

/* An FPDU that is framed, and not yet taken by the connection as a whole. */
struct adv_rdmap_framed {
	enum adv_rdmap_origin origin;
	bool ends_request; /* the last FPDU of its request */
	bool damaged;	   /* adv_rdmap_tx_damage() */
	uint32_t index;	   /* of the request in the send queue, or of the READ of the peer */
	uint32_t offset;   /* of the payload in its message */
	uint32_t length;
	struct adv_fpdu_tx before;	    /* fpdu_tx before this FPDU, to take it back */
	uint8_t built[ADV_RDMAP_BUILT_MAX]; /* header, and the payload of READ requests and
					     * Terminate
					     */
	uint8_t markers[ADV_RDMAP_TX_MARKERS][ADV_FPDU_MARKER_LEN];
	struct adv_fpdu_added added;
	struct iovec pieces[ADV_RDMAP_PIECES];
	size_t count;
};

/* A READ of the peer that is being answered. */
struct adv_rdmap_response {
	struct adv_rdmap_read_request read;
	uint32_t offset; /* bytes already framed */
};

/* The message that arrives on an untagged queue. */
struct adv_rdmap_untagged {
	uint32_t msn; /* of the next message, or of the one in progress */
	uint32_t mo;  /* bytes of the message in progress */
};

struct adv_rdmap_stream {
	struct adv_qp *qp;
	void *owner; /* adv_rdmap_set_owner() */
	struct adv_rdmap_config config;
	enum adv_rdmap_phase phase;

	/* sending */
	struct adv_fpdu_tx fpdu_tx;
	struct adv_rdmap_framed framed[ADV_RDMAP_FRAMED];
	uint8_t *copies;      /* with CRCs: room for the payload of each of framed[]; else NULL */
	uint32_t framed_head; /* free running */
	uint32_t framed_tail;
	size_t taken;	     /* bytes of the oldest framed FPDU that the connection has taken */
	uint64_t generation; /* of the table of keys, when all framed payload was valid */
	uint32_t msn[3];     /* next MSN of SENDs, READ requests and Terminate */
	enum adv_rdmap_sending sending;
	uint32_t offset;    /* bytes of the request in progress that are framed */
	bool response_turn; /* the last message answered a READ of the peer, or could have */
	struct adv_rdmap_terminate terminate;
	bool terminate_due;
	bool first_due;		      /* a ready-to-receive message is to be sent */
	bool first_awaited;	      /* nothing may be sent before the peer's first FPDU */
	bool first_heard;	      /* the peer has sent an FPDU */
	bool reply_under_way;	      /* the last look found the reply not acknowledged */
	bool looked;		      /* since the last adv_rdmap_tx() */
	bool offered;		      /* since the last adv_rdmap_sent() */
	struct adv_timer first_timer; /* set while the peer has sent nothing (stream_first.c) */
	uint32_t first_repeats;	      /* times that it was set */

	/* READs of this end, in order; `ord` of them */
	uint32_t reads_head; /* free running; also the sink STag of the READ */
	uint32_t reads_tail;
	uint32_t *read_index; /* ring of read_room: their requests in the send queue */
	uint32_t read_room;
	uint32_t read_received; /* bytes of the oldest READ's response */
	uint32_t sent_end;	/* all requests before this one are sent, or are READs */

	/* READs of the peer */
	struct adv_rdmap_response *response; /* ring of response_room */
	uint32_t response_room;
	uint32_t response_head; /* free running */
	uint32_t response_tail;

	/* receiving */
	struct adv_fpdu_rx fpdu_rx;
	bool in_segment;
	struct adv_ddp_header header; /* of the present segment */
	uint32_t segment_len;	      /* with the header */
	uint32_t placed;	      /* bytes of its payload already placed */
	struct adv_rdmap_untagged queue[3];
	uint8_t collected[ADV_RDMAP_COLLECT_MAX]; /* payload of READ requests and Terminate */
};

/* What a Terminate says. */
struct adv_rdmap_reason {
	enum adv_terminate_layer layer;
	enum adv_terminate_type type;
	uint8_t code;
};

/* Ends the stream because of an error in what the peer has sent: prepares a Terminate. The caller
 * moves the queue pair to ERR. */
void adv_rdmap_prepare_terminate(struct adv_rdmap_stream *s, struct adv_rdmap_reason reason);
/* As adv_rdmap_prepare_terminate(), and moves the queue pair to ERR as a responder. why: the cause
 * for this end's program. */
void adv_rdmap_refuse(struct adv_rdmap_stream *s, uint64_t now, enum adv_vendor_err why,
		      struct adv_rdmap_reason reason);
/* As adv_rdmap_refuse(), for memory that the peer has named. local is a cause of
 * adv_mr_resolve(). */
void adv_rdmap_refuse_memory(struct adv_rdmap_stream *s, uint64_t now, enum adv_vendor_err local);
/* Ends the stream after an error of this end; the queue pair is in ERR. */
void adv_rdmap_fail(struct adv_rdmap_stream *s);
/* Ends the stream without an error: the program has moved the queue pair to ERR. */
void adv_rdmap_finish(struct adv_rdmap_stream *s);
/* Handles a Terminate of the peer. */
void adv_rdmap_terminated(struct adv_rdmap_stream *s, uint64_t now,
			  const struct adv_rdmap_terminate *t);
/* Prepares for the ready-to-receive message, of this end or of the peer. 0 or ENOMEM. */
int adv_rdmap_first_start(struct adv_rdmap_stream *s);
/* Releases what adv_rdmap_first_start() has reserved. */
void adv_rdmap_first_stop(struct adv_rdmap_stream *s);
/* Sets the timer that ends the wait for the peer's first FPDU, if the wait has an end. */
void adv_rdmap_first_wait(struct adv_rdmap_stream *s, uint64_t now);
/* Sets the timer that repeats the ready-to-receive message, after it was framed. */
void adv_rdmap_first_framed(struct adv_rdmap_stream *s, uint64_t now);
/* Handles the end of any FPDU of the peer. */
static inline void adv_rdmap_first_heard(struct adv_rdmap_stream *s)
{
	s->first_awaited = false;
	s->first_heard = true;
	adv_timer_cancel(&s->first_timer);
}

/* Completes the requests at the front of the send queue that are done. */
void adv_rdmap_complete(struct adv_rdmap_stream *s, uint64_t now);

/* The oldest READ of this end in the send queue. */
static inline struct adv_send_wqe *adv_rdmap_oldest_read(const struct adv_rdmap_stream *s)
{
	return adv_send_wqe_at(s->qp, s->read_index[s->reads_tail & (s->read_room - 1)]);
}

#endif
