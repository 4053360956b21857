/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Sends RoCE v1 frames. Each packet is copied into a frame, so its ICRC is that of the bytes that
 * leave. */
#include "runtime/link/raw_internal.h"

#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "base/sys.h"
#include "base/bytes.h"
#include "nic/wire/frame.h"

/* Returns the address from which packets of the path leave; NULL: the machine does not have it any
 * more. path->link_hint leads to it. */
static const struct adv_raw_address *source_of(const struct raw_link *l, struct adv_path *path)
{
	static const uint8_t none[6];
	const struct adv_raw_address *a = &l->address[path->link_hint % ADV_RAW_ADDRESSES];

	if (a < l->address + l->address_count && adv_gid_equal(&a->gid, &path->sgid) &&
	    memcmp(a->mac, none, sizeof(none)) != 0)
		return a;
	for (unsigned i = 0; i < l->address_count; i++) {
		a = &l->address[i];
		if (!adv_gid_equal(&a->gid, &path->sgid) || !memcmp(a->mac, none, sizeof(none)))
			continue;
		path->link_hint = i;
		return a;
	}
	return NULL;
}

/* Writes headers, payload and padding of the packet. Returns the end. */
static uint8_t *put_transport(uint8_t *p, const struct adv_tx_packet *pkt)
{
	size_t left = pkt->payload_len;

	memcpy(p, pkt->header, pkt->header_len);
	p += pkt->header_len;
	for (const struct iovec *v = pkt->iov, *end = v + pkt->iov_count; v < end && left; v++) {
		size_t n = v->iov_len < left ? v->iov_len : left;

		memcpy(p, v->iov_base, n);
		p += n;
		left -= n;
	}
	memset(p, 0, left + pkt->pad);
	return p + left + pkt->pad;
}

/* len: of the packet, without the ICRC. */
static void put_frame(struct raw_frame *f, const struct adv_raw_address *from,
		      const struct adv_tx_packet *pkt, uint32_t len)
{
	const struct adv_path *path = pkt->path;
	uint8_t *p = f->bytes + RAW_FIRST, *grh = p + RAW_ETHERNET_LEN, *bth = grh + ADV_GRH_LEN;
	uint32_t icrc;

	f->to = (struct sockaddr_ll){.sll_family = AF_PACKET,
				     .sll_protocol = htons(ADV_ETHERTYPE_ROCE),
				     .sll_ifindex = (int)from->ifindex,
				     .sll_halen = sizeof(path->dmac)};
	if (adv_gid_is_multicast(&path->dgid))
		adv_raw_group_mac(&path->dgid, f->to.sll_addr);
	else
		memcpy(f->to.sll_addr, path->dmac, sizeof(path->dmac));
	memcpy(p, f->to.sll_addr, 6);
	memcpy(p + 6, from->mac, 6);
	adv_put_be16(p + 12, ADV_ETHERTYPE_ROCE);
	adv_grh_of_v1(grh, path->sgid.raw, path->dgid.raw, (uint8_t)(path->tclass & ~ADV_ECN_MASK),
		      path->hop_limit, path->flow_label, len + ADV_ICRC_LEN);
	put_transport(bth, pkt);
	icrc = htole32(adv_icrc_finish(adv_icrc_begin_v1(grh), bth, len) ^ pkt->icrc_flip);
	memcpy(bth + len, &icrc, sizeof(icrc));
	f->len = RAW_ETHERNET_LEN + ADV_GRH_LEN + len + ADV_ICRC_LEN;
	f->transport_len = len + ADV_ICRC_LEN;
	f->sl = path->sl & 7;
}

static void add_frame(struct raw_link *l, const struct adv_tx_packet *pkt)
{
	const uint32_t len = pkt->header_len + pkt->payload_len + pkt->pad;
	const struct adv_raw_address *from = source_of(l, pkt->path);

	if (!from || pkt->more || len > ADV_HEADERS_MAX + 4096u)
		l->link.counters.tx_dropped++;
	else
		put_frame(&l->tx.frame[l->tx.count++], from, pkt, len);
}

/* Logs a failure that is not the last one that was logged. */
static void log_failure(struct raw_tx *tx, const struct raw_frame *f, int err)
{
	if (tx->last_error == err)
		return;
	tx->last_error = err;
	if (err == EMSGSIZE)
		adv_warn("cannot send a RoCE v1 frame of %u bytes: the interface's MTU is smaller; "
			 "use a smaller path_mtu",
			 f->len);
	else
		adv_warn("cannot send a RoCE v1 frame by interface %d: %s", f->to.sll_ifindex,
			 strerror(err));
}

/* Sets the priority of the frames from tx->next on. */
static void set_priority(struct raw_link *l)
{
	const int priority = l->tx.frame[l->tx.next].sl;

	if (l->tx.priority == priority)
		return;
	(void)adv_sys_setsockopt(l->fd, SOL_SOCKET, SO_PRIORITY, &priority, sizeof(priority));
	l->tx.priority = priority;
}

/* Sends the frames from tx->next on that have one priority, by one call. Returns the number of
 * frames sent; -1 with errno. */
static int send_run(struct raw_link *l)
{
	struct raw_tx *tx = &l->tx;
	const uint8_t sl = tx->frame[tx->next].sl;
	unsigned n = 0;

	set_priority(l);
	for (unsigned i = tx->next; i < tx->count && tx->frame[i].sl == sl; i++, n++) {
		struct raw_frame *f = &tx->frame[i];

		tx->iov[n] = (struct iovec){f->bytes + RAW_FIRST, f->len};
		tx->mmsg[n].msg_hdr = (struct msghdr){.msg_name = &f->to,
						      .msg_namelen = sizeof(f->to),
						      .msg_iov = &tx->iov[n],
						      .msg_iovlen = 1};
	}
	return adv_sys_sendmmsg(l->fd, tx->mmsg, n, MSG_DONTWAIT);
}

static void count_sent(struct raw_link *l, unsigned frames)
{
	for (; frames; frames--) {
		l->link.counters.tx_packets++;
		l->link.counters.tx_bytes += l->tx.frame[l->tx.next++].transport_len;
	}
}

/* Drops the frame at tx->next. The queue of an interface refuses a frame by ENOBUFS: that is a loss
 * as in a NIC or a switch, and the socket, which has room, gives no sign when the queue has some.
 */
static void drop_frame(struct raw_link *l, int err)
{
	if (err != ENOBUFS)
		log_failure(&l->tx, &l->tx.frame[l->tx.next], err);
	l->link.counters.tx_dropped++;
	l->tx.next++;
}

/* Sends the waiting frames. False: the socket is full. */
static bool send_all(struct raw_link *l)
{
	struct raw_tx *tx = &l->tx;

	while (tx->next < tx->count) {
		int sent = send_run(l);

		if (sent > 0) {
			count_sent(l, (unsigned)sent);
		} else if (errno == EAGAIN) {
			l->link.counters.tx_blocked++;
			return false;
		} else if (errno != EINTR) {
			drop_frame(l, errno);
		}
	}
	tx->next = tx->count = 0;
	return true;
}

/* Makes frames of the packets that leave. Returns the number of the others, which are then the
 * first of the batch. */
static unsigned add_frames(struct raw_link *l, struct adv_tx_batch *batch)
{
	unsigned others = 0;

	for (unsigned i = 0; i < batch->count; i++) {
		const struct adv_tx_packet *pkt = &batch->packet[i];

		if (adv_raw_leaves(l, pkt->path))
			add_frame(l, pkt);
		else if (others++ != i)
			batch->packet[others - 1] = *pkt;
	}
	return others;
}

bool adv_raw_flush(struct adv_link *link)
{
	struct raw_link *l = raw_link_of(link);

	link->send_fd = l->fd;
	if (!send_all(l))
		return false;
	link->send_fd = -1;
	if (l->inner->send_fd < 0 || l->inner->ops->flush(l->inner))
		return true;
	link->send_fd = l->inner->send_fd;
	return false;
}

bool adv_raw_send(struct adv_link *link, struct adv_tx_batch *batch)
{
	struct raw_link *l = raw_link_of(link);

	/* The caller has waited until there is room, so frames wait only if it did not. */
	if (l->tx.next < l->tx.count && !send_all(l)) {
		l->link.counters.tx_dropped += batch->count;
		return false;
	}
	batch->count = add_frames(l, batch);
	if (batch->count && !l->inner->ops->send(l->inner, batch)) {
		(void)send_all(l);
		link->send_fd = l->inner->send_fd;
		return false;
	}
	link->send_fd = l->fd;
	if (!send_all(l))
		return false;
	link->send_fd = -1;
	return true;
}
