/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the two ends of a connection agree on by their start-up frames: CRCs, markers, READs
 * outstanding, and who sends the first FPDU (RFC 5044 section 7.1, RFC 6581).
 *
 * The initiator encodes its request, and passes the reply to adv_mpa_take_reply(). The responder
 * passes the request to adv_mpa_check_request(), shows it to the program, and answers with
 * adv_mpa_answer(). Both then have the configuration of their stream.
 *
 * A responder must not send an FPDU before it has received one. If the programs are peers, the
 * initiator therefore begins with a message that says only that it is ready to receive. An
 * initiator that does not offer this, such as Linux's siw by default, is given 100 ms.
 */
#ifndef ADV_NIC_IWARP_NEGOTIATION_H
#define ADV_NIC_IWARP_NEGOTIATION_H

#include "nic/iwarp/agreement.h"
#include "nic/iwarp/mpa.h"

/* What one end wants of CRCs. They are used in both directions, or in none. */
enum adv_mpa_crc {
	ADV_MPA_CRC_ACCEPT,  /* CRCs are used if the peer requires them */
	ADV_MPA_CRC_REQUIRE, /* the C flag is set, so the peer must use them, too */
	ADV_MPA_CRC_REFUSE,  /* there is no connection with a peer that requires them */
	ADV_MPA_CRC_WISHES,
};

/* What one end wants. */
struct adv_mpa_wish {
	enum adv_mpa_crc crc;
	bool markers;	   /* receive markers */
	bool peer_to_peer; /* initiator: offer to begin with a ready-to-receive message */
	uint32_t ird;	   /* at most ADV_MPA_IRD_MAX, as ord */
	uint32_t ord;
};

enum adv_mpa_verdict {
	ADV_MPA_AGREED,
	ADV_MPA_REJECTED,  /* the peer's program or its device has refused: its private data may say
			      why */
	ADV_MPA_REVISION,  /* a revision that does not exist, or not the one that was asked for */
	ADV_MPA_FEW_READS, /* the peer wants more READs outstanding than this end serves */
	ADV_MPA_NO_RTR,	   /* the peer has chosen a ready-to-receive message that was not offered */
	ADV_MPA_CRC,	   /* the peer requires CRCs, which this end refuses */
};

/* Fills in the request of an initiator, revision 2. The private data is the caller's. */
void adv_mpa_make_request(const struct adv_mpa_wish *wish, const uint8_t *private_data,
			  uint16_t private_len, struct adv_mpa_frame *request);

/* Takes the reply to a request. If the ends agree, fills in the stream's configuration. Otherwise
 * the caller closes the connection. */
enum adv_mpa_verdict adv_mpa_take_reply(const struct adv_mpa_wish *wish,
					const struct adv_mpa_frame *reply,
					struct adv_rdmap_config *config);

/* Checks a request before the program sees it. ADV_MPA_AGREED; ADV_MPA_REVISION: the caller closes
 * the connection; ADV_MPA_CRC: the caller answers with adv_mpa_refuse(). */
enum adv_mpa_verdict adv_mpa_check_request(const struct adv_mpa_wish *wish,
					   const struct adv_mpa_frame *request);

/* Answers a request that adv_mpa_check_request() has accepted: fills in the reply, which the caller
 * sends, and the stream's configuration. The reply has the request's revision. */
void adv_mpa_answer(const struct adv_mpa_wish *wish, const struct adv_mpa_frame *request,
		    const uint8_t *private_data, uint16_t private_len, struct adv_mpa_frame *reply,
		    struct adv_rdmap_config *config);

/* Refuses a request: fills in the reply. The caller sends it and closes the connection. */
void adv_mpa_refuse(const struct adv_mpa_frame *request, const uint8_t *private_data,
		    uint16_t private_len, struct adv_mpa_frame *reply);

#endif
