/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "nic/iwarp/negotiation.h"

#include "base/number.h"

#define REVISION_PLAIN	  1
#define REVISION_ENHANCED 2

void adv_mpa_make_request(const struct adv_mpa_wish *wish, const uint8_t *private_data,
			  uint16_t private_len, struct adv_mpa_frame *request)
{
	*request = (struct adv_mpa_frame){
		.kind = ADV_MPA_REQUEST,
		.markers = wish->markers,
		.crc = wish->crc == ADV_MPA_CRC_REQUIRE,
		.revision = REVISION_ENHANCED,
		.enhanced = true,
		.ird = (uint16_t)wish->ird,
		.ord = (uint16_t)wish->ord,
		.peer_to_peer = wish->peer_to_peer,
		.rtr_send = wish->peer_to_peer,
		.rtr_write = wish->peer_to_peer,
		.private_data = private_data,
		.private_len = private_len,
	};
}

/* Fills in what does not depend on who has begun. */
static void agree_on(const struct adv_mpa_wish *wish, const struct adv_mpa_frame *peer,
		     struct adv_rdmap_config *config)
{
	*config = (struct adv_rdmap_config){
		.crc = wish->crc == ADV_MPA_CRC_REQUIRE || peer->crc,
		.rx_markers = wish->markers,
		.tx_markers = peer->markers,
		.ird = wish->ird,
		.ord = wish->ord,
	};
	if (peer->enhanced)
		config->ord = (uint32_t)adv_number_min(wish->ord, peer->ird);
}

static bool refuses_crc(const struct adv_mpa_wish *wish, const struct adv_mpa_frame *peer)
{
	return wish->crc == ADV_MPA_CRC_REFUSE && peer->crc;
}

/* Sets the ready-to-receive message that the reply asks for. */
static enum adv_mpa_verdict choose_rtr(const struct adv_mpa_wish *wish,
				       const struct adv_mpa_frame *reply,
				       struct adv_rdmap_config *config)
{
	if (!wish->peer_to_peer || !reply->peer_to_peer)
		return ADV_MPA_AGREED;
	if (reply->rtr_write)
		config->first = ADV_RDMAP_FIRST_WRITE;
	else if (reply->rtr_send)
		config->first = ADV_RDMAP_FIRST_EMPTY;
	else
		return ADV_MPA_NO_RTR;
	return ADV_MPA_AGREED;
}

enum adv_mpa_verdict adv_mpa_take_reply(const struct adv_mpa_wish *wish,
					const struct adv_mpa_frame *reply,
					struct adv_rdmap_config *config)
{
	if (reply->reject)
		return ADV_MPA_REJECTED;
	if (reply->revision != REVISION_ENHANCED || !reply->enhanced)
		return ADV_MPA_REVISION;
	if (refuses_crc(wish, reply))
		return ADV_MPA_CRC;
	if (reply->ord > wish->ird)
		return ADV_MPA_FEW_READS;
	agree_on(wish, reply, config);
	return choose_rtr(wish, reply, config);
}

enum adv_mpa_verdict adv_mpa_check_request(const struct adv_mpa_wish *wish,
					   const struct adv_mpa_frame *request)
{
	if (request->revision != REVISION_PLAIN && request->revision != REVISION_ENHANCED)
		return ADV_MPA_REVISION;
	return refuses_crc(wish, request) ? ADV_MPA_CRC : ADV_MPA_AGREED;
}

void adv_mpa_answer(const struct adv_mpa_wish *wish, const struct adv_mpa_frame *request,
		    const uint8_t *private_data, uint16_t private_len, struct adv_mpa_frame *reply,
		    struct adv_rdmap_config *config)
{
	agree_on(wish, request, config);
	config->first = request->peer_to_peer ? ADV_RDMAP_FIRST_OF_PEER : ADV_RDMAP_FIRST_HOPED;
	*reply = (struct adv_mpa_frame){
		.kind = ADV_MPA_REPLY,
		.markers = wish->markers,
		.crc = config->crc,
		.revision = request->revision,
		.enhanced = request->enhanced,
		.private_data = private_data,
		.private_len = private_len,
	};
	if (!request->enhanced)
		return;
	/* The peer may read as much as it asked for, if this end can serve it. */
	reply->ird = (uint16_t)wish->ird;
	reply->ord = (uint16_t)config->ord;
	reply->peer_to_peer = request->peer_to_peer;
	reply->rtr_write = request->peer_to_peer && request->rtr_write;
	reply->rtr_send = request->peer_to_peer && !request->rtr_write && request->rtr_send;
	reply->rtr_read = request->peer_to_peer && !request->rtr_write && !request->rtr_send;
}

void adv_mpa_refuse(const struct adv_mpa_frame *request, const uint8_t *private_data,
		    uint16_t private_len, struct adv_mpa_frame *reply)
{
	*reply = (struct adv_mpa_frame){
		.kind = ADV_MPA_REPLY,
		.reject = true,
		.revision = request->revision,
		.enhanced = request->enhanced,
		.private_data = private_data,
		.private_len = private_len,
	};
}
