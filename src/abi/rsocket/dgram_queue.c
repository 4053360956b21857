/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Datagrams that the application has not read. */
#include <stdlib.h>
#include <string.h>

#include "abi/rsocket/state.h"

static bool from_peer(const struct adv_rsocket *rs, const union adv_rs_addr *source)
{
	return !rs->d.peer || adv_rs_addr_equal(&rs->d.peer->addr, source);
}

bool adv_rs_dgram_deliver(struct adv_rsocket *rs, const union adv_rs_addr *source,
			  const uint8_t *data, size_t len, struct adv_rs_dgram_qp *qp,
			  uint32_t slot)
{
	struct adv_rs_datagram *datagram;
	uint8_t *copy = NULL;

	if (adv_list_empty(&rs->d.free) || rs->d.read_shut || !from_peer(rs, source))
		return false;
	if (!qp) {
		copy = malloc(len + 1);
		if (!copy)
			return false;
		memcpy(copy, data, len);
		data = copy;
	}
	datagram = adv_container_of(rs->d.free.next, struct adv_rs_datagram, link);
	adv_list_del(&datagram->link);
	datagram->source = *source;
	datagram->data = data;
	datagram->len = (uint32_t)len;
	datagram->qp = qp;
	datagram->slot = slot;
	datagram->copy = copy;
	adv_list_add_tail(&rs->d.queued, &datagram->link);
	return true;
}

void adv_rs_dgram_release(struct adv_rsocket *rs, struct adv_rs_datagram *datagram)
{
	adv_list_del(&datagram->link);
	if (datagram->qp)
		adv_rs_dgram_post_recv(datagram->qp, datagram->slot);
	free(datagram->copy);
	datagram->copy = NULL;
	adv_list_add_tail(&rs->d.free, &datagram->link);
}
