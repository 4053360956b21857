/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Sending: a batch of packets is divided into messages. A message contains consecutive packets that
 * one segmented send (UDP GSO) can carry. One sendmmsg() sends consecutive messages of one socket.
 *
 * Packets are copied into one flat buffer, including the payload, for three reasons:
 * - Packets for which a socket has no room need no further copy.
 * - The program cannot change the bytes after their ICRC is computed.
 * - The kernel handles one flat buffer faster than two pieces for each packet, by more than the
 * copy costs.
 */
#include "runtime/link/udp_internal.h"

#include <endian.h>
#include <errno.h>

#include "base/copy.h"
#include "base/log.h"
#include "base/sys.h"

static uint32_t packet_len(const struct adv_tx_packet *pkt)
{
	return (uint32_t)pkt->header_len + pkt->payload_len + pkt->pad + ADV_ICRC_LEN;
}

static int16_t tos_of(const struct adv_tx_packet *pkt)
{
	return (int16_t)((pkt->path->tclass & 0xfc) | (int)pkt->ecn);
}

/*
 * On a fabric of one subnet, programs set a hop limit of 0 or 1. Drivers for RoCE v2 then use the
 * route's hop limit (-1) instead. For a multicast group the program's value counts.
 */
static int16_t ttl_of(const struct adv_path *path, bool multicast)
{
	if (path->hop_limit > 1)
		return path->hop_limit;
	return multicast ? 1 : -1;
}

/* A message never has too many segments, because a batch does not. */
_Static_assert(ADV_TX_BATCH_PACKETS <= UDP_GSO_SEGMENTS, "a message may have the whole batch");

static bool has_room_for(const struct udp_message *m, const struct adv_tx_packet *pkt, uint32_t len)
{
	return len <= m->segment_len && len <= m->room && !pkt->icrc_flip;
}

/* True if the packet has path and destination of the message's first packet, mostly because it is
 * of the same queue pair. */
static bool has_same_path(const struct udp_message *m, const struct adv_tx_packet *pkt)
{
	return m->path == pkt->path && m->dest_qpn == pkt->dest_qpn &&
	       (m->tos & ADV_ECN_MASK) == (int)pkt->ecn;
}

/* True if the packet may be appended to the message though it has another path. */
static bool has_same_traits(const struct udp_message *m, const struct adv_tx_packet *pkt,
			    const struct udp_flow *f, uint16_t target)
{
	return m->flow->socket == f->socket && adv_qpn_target(m->dest_qpn) == target &&
	       m->tos == tos_of(pkt) && m->ttl == ttl_of(pkt->path, f->multicast) &&
	       adv_gid_equal(&m->flow->dgid, &f->dgid) && adv_gid_equal(&m->flow->sgid, &f->sgid);
}

static struct udp_message *start_message(struct udp_link *l, const struct udp_flow *f,
					 const struct adv_tx_packet *pkt, uint8_t *data,
					 uint32_t len)
{
	struct udp_message *m = &l->tx.message[l->tx.count++];
	bool alone = pkt->icrc_flip || (l->refusal_count && adv_udp_refusal_holds(l, &f->dgid));

	*m = (struct udp_message){
		.flow = f,
		.path = pkt->path,
		.data = data,
		.segment_len = (uint16_t)len,
		.icrc = f->icrc ^ udp_length_effect(l, f->ipv4, len),
		.dest_qpn = pkt->dest_qpn,
		.room = alone ? len : UDP_GSO_BYTES,
		.tos = tos_of(pkt),
		.ttl = ttl_of(pkt->path, f->multicast),
	};
	return m;
}

/* Returns the state of the ICRC before the BTH of a packet of the message. ip_id: of the packet,
 * which IPv6 does not have. len: of the packet, with the ICRC. */
static adv_icrc_state begin_icrc(struct udp_link *l, const struct udp_message *m, uint16_t ip_id,
				 uint32_t len)
{
	const bool ipv4 = m->flow->ipv4;
	adv_icrc_state s = m->icrc;

	if (len != m->segment_len)
		s = m->flow->icrc ^ udp_length_effect(l, ipv4, len);
	return ipv4 ? s ^ adv_icrc_id_effect_of(ip_id) : s;
}

/* Writes the ICRC of the packet at p. len: bytes of the packet, including the four of the ICRC. s:
 * the result of begin_icrc(). */
static void write_icrc(adv_icrc_state s, uint8_t *p, uint32_t len, uint32_t flip)
{
	uint32_t icrc = htole32(adv_icrc_finish(s, p, len - ADV_ICRC_LEN) ^ flip);

	memcpy(p + len - ADV_ICRC_LEN, &icrc, sizeof(icrc));
}

/* Writes payload and padding at q. */
static __attribute__((noinline)) void gather_payload(uint8_t *q, const struct adv_tx_packet *pkt)
{
	size_t left = pkt->payload_len;

	for (const struct iovec *v = pkt->iov, *end = v + pkt->iov_count; v < end; v++) {
		size_t n = v->iov_len < left ? v->iov_len : left;

		memcpy(q, v->iov_base, n);
		q += n;
		left -= n;
	}
	memset(q, 0, left + pkt->pad);
}

/* Writes header, payload and padding at p. */
static inline void copy_packet(uint8_t *p, const struct adv_tx_packet *pkt)
{
	uint8_t *q = p + pkt->header_len;

	/* A copy of fixed length is faster. The bytes beyond the header are overwritten below. */
	memcpy(p, pkt->header, ADV_HEADERS_MAX);
	if (pkt->iov_count == 1 && !pkt->pad && pkt->iov->iov_len == pkt->payload_len)
		adv_copy(q, pkt->iov->iov_base, pkt->payload_len);
	else if (pkt->payload_len)
		gather_payload(q, pkt);
}

static void append_packet(struct udp_link *l, struct udp_message *m,
			  const struct adv_tx_packet *pkt, uint8_t *p, uint32_t len)
{
	copy_packet(p, pkt);
	write_icrc(begin_icrc(l, m, m->segments, len), p, len, pkt->icrc_flip);
	m->room = len < m->segment_len ? 0 : m->room - len;
	m->len += len;
	m->segments++;
}

/* Returns the message for this packet: m or a new message. NULL: the packet cannot be sent. */
static struct udp_message *message_for(struct udp_link *l, struct udp_message *m,
				       struct adv_tx_packet *pkt, uint8_t *at, uint32_t len)
{
	bool room = m && has_room_for(m, pkt, len);
	const struct udp_flow *f;
	uint16_t target;

	if (room && has_same_path(m, pkt))
		return m;
	if (len > UDP_PACKET_MAX)
		return NULL;
	target = adv_qpn_target(pkt->dest_qpn);
	f = udp_flow_of(l, pkt->path, target);
	if (!f || (room && has_same_traits(m, pkt, f, target)))
		return f ? m : NULL;
	return start_message(l, f, pkt, at, len);
}

static void build_messages(struct udp_link *l, struct adv_tx_batch *batch)
{
	struct udp_tx *tx = &l->tx;
	uint8_t *at = tx->bytes + UDP_FIRST_PACKET;
	struct udp_message *m = NULL;

	tx->count = 0;
	tx->next = 0;
	for (unsigned i = 0; i < batch->count; i++) {
		struct adv_tx_packet *pkt = &batch->packet[i];
		uint32_t len = packet_len(pkt);
		struct udp_message *to = message_for(l, m, pkt, at, len);

		if (!to) {
			l->link.counters.tx_dropped++;
			continue;
		}
		append_packet(l, to, pkt, at, len);
		at += len;
		m = to;
	}
}

static void set_option(const struct udp_socket *s, int ipv4_name, int ipv6_name, int value)
{
	(void)adv_sys_setsockopt(s->fd, s->ipv4 ? IPPROTO_IP : IPPROTO_IPV6,
				 s->ipv4 ? ipv4_name : ipv6_name, &value, sizeof(value));
}

/* Sets the socket options for a message. Packets of a QP have the same options, so socket options
 * cost less than control data with each message. */
static void set_options(struct udp_link *l, const struct udp_message *m)
{
	struct udp_socket *s = m->flow->socket;
	int *ttl = m->flow->multicast ? &s->multicast_ttl : &s->ttl;

	if (s->tos == m->tos && *ttl == m->ttl)
		return;
	adv_udp_memos_forget(l);
	if (s->tos != m->tos) {
		set_option(s, IP_TOS, IPV6_TCLASS, m->tos);
		s->tos = m->tos;
	}
	if (*ttl != m->ttl && m->flow->multicast)
		set_option(s, IP_MULTICAST_TTL, IPV6_MULTICAST_HOPS, m->ttl);
	else if (*ttl != m->ttl)
		set_option(s, IP_TTL, IPV6_UNICAST_HOPS, m->ttl);
	*ttl = m->ttl;
}

/* Returns the number of messages from tx->next on that one call can send: those of one socket with
 * the same options. */
static unsigned run_length(const struct udp_tx *tx)
{
	const struct udp_message *first = &tx->message[tx->next];
	unsigned n = 1;

	while (tx->next + n < tx->count) {
		const struct udp_message *m = first + n;

		if (m->flow->socket != first->flow->socket || m->tos != first->tos ||
		    m->ttl != first->ttl || m->flow->multicast != first->flow->multicast)
			break;
		n++;
	}
	return n;
}

/* Names the source address. Returns the control bytes used. */
static size_t put_source(const struct udp_flow *f, struct cmsghdr *c)
{
	struct in_pktinfo v4 = {0};
	struct in6_pktinfo v6 = {0};

	if (f->socket->ipv4) {
		memcpy(&v4.ipi_spec_dst, f->sgid.raw + 12, 4);
		c->cmsg_level = IPPROTO_IP;
		c->cmsg_type = IP_PKTINFO;
		c->cmsg_len = CMSG_LEN(sizeof(v4));
		memcpy(CMSG_DATA(c), &v4, sizeof(v4));
		return CMSG_SPACE(sizeof(v4));
	}
	memcpy(&v6.ipi6_addr, f->sgid.raw, 16);
	if (adv_udp_is_link_local(&f->sgid))
		v6.ipi6_ifindex = f->ifindex;
	c->cmsg_level = IPPROTO_IPV6;
	c->cmsg_type = IPV6_PKTINFO;
	c->cmsg_len = CMSG_LEN(sizeof(v6));
	memcpy(CMSG_DATA(c), &v6, sizeof(v6));
	return CMSG_SPACE(sizeof(v6));
}

/* Sets the segment size of a message. Returns the control bytes used. segment_len: 0 if the kernel
 * must not divide the message. */
static size_t put_segment(struct cmsghdr *c, uint16_t segment_len)
{
	c->cmsg_level = IPPROTO_UDP;
	c->cmsg_type = UDP_SEGMENT;
	c->cmsg_len = CMSG_LEN(sizeof(segment_len));
	memcpy(CMSG_DATA(c), &segment_len, sizeof(segment_len));
	return CMSG_SPACE(sizeof(segment_len));
}

/*
 * Fills the header for len bytes of the message, which the kernel divides into segments of
 * segment_len bytes; 0: one packet. control: UDP_TX_CONTROL bytes.
 */
static void fill_header(struct msghdr *h, struct udp_message *m, struct iovec *iov, void *control,
			uint16_t segment_len)
{
	size_t used = 0;

	*h = (struct msghdr){
		.msg_name = (void *)&m->flow->to,
		.msg_namelen = m->flow->to_len,
		.msg_iov = iov,
		.msg_iovlen = 1,
	};
	if (!udp_segment_fits(m->flow->segment, (uint32_t)iov->iov_len, segment_len))
		used = put_segment(control, segment_len);
	if (m->flow->name_source)
		used += put_source(m->flow, (struct cmsghdr *)(void *)((char *)control + used));
	if (used) {
		h->msg_control = control;
		h->msg_controllen = used;
	}
}

static uint16_t division_of(const struct udp_message *m)
{
	return m->segments > 1 ? m->segment_len : 0;
}

/* Sends the first len bytes of the message. segment_len: as fill_header(). Negative with errno on
 * failure. */
static ssize_t send_one(struct udp_message *m, uint32_t len, uint16_t segment_len)
{
	struct udp_segment *option = m->flow->segment;
	const int fd = m->flow->socket->fd;
	union {
		char space[UDP_TX_CONTROL];
		struct cmsghdr align;
	} control;
	struct iovec iov = {m->data, len};
	bool fits = udp_segment_fits(option, len, segment_len);
	struct msghdr h;
	ssize_t sent;

	if (fits) {
		option->streak = 0;
		if (!m->flow->name_source)
			return adv_sys_sendto(fd, m->data, len, 0, &m->flow->to, m->flow->to_len);
	}
	fill_header(&h, m, &iov, &control, segment_len);
	sent = adv_sys_sendmsg(fd, &h, 0);
	if (sent >= 0 && !fits)
		adv_udp_segment_learn(option, fd, segment_len);
	return sent;
}

/* Sends n messages by one call. Returns the number of messages sent; -1 with errno if the first one
 * was not sent. */
static int send_run(struct udp_tx *tx, unsigned n)
{
	struct udp_message *m = &tx->message[tx->next];

	if (n == 1)
		return send_one(m, m->len, division_of(m)) < 0 ? -1 : 1;
	for (unsigned i = tx->next; i < tx->next + n; i++) {
		m = &tx->message[i];
		tx->iov[i] = (struct iovec){m->data, m->len};
		fill_header(&tx->mmsg[i].msg_hdr, m, &tx->iov[i], &tx->control[i], division_of(m));
	}
	return adv_sys_sendmmsg(m->flow->socket->fd, &tx->mmsg[tx->next], n, 0);
}

static void count_sent(struct udp_link *l, unsigned messages)
{
	for (unsigned i = 0; i < messages; i++) {
		const struct udp_message *m = &l->tx.message[l->tx.next + i];

		l->link.counters.tx_packets += m->segments;
		l->link.counters.tx_bytes += m->len;
		if (m->segments > 1 && l->refusal_count)
			adv_udp_refusal_end(l, &m->flow->dgid);
	}
}

/* Counts segments that cannot be sent as lost in the network; the transport retransmits or fails.
 */
static void drop_segments(struct udp_link *l, const struct udp_message *m, unsigned segments,
			  int err)
{
	struct udp_socket *s = m->flow->socket;

	l->link.counters.tx_dropped += segments;
	if (s->last_error == err)
		return;
	s->last_error = err;
	if (err == EMSGSIZE)
		adv_warn("cannot send %u bytes: the interface's MTU is smaller; use a smaller "
			 "path_mtu",
			 m->segment_len);
	else if (err == EINVAL || err == EADDRNOTAVAIL)
		adv_warn("cannot send from port %u: %s; was the source address removed?", s->port,
			 strerror(err));
	else
		adv_warn("cannot send %u bytes from port %u: %s", m->segment_len, s->port,
			 strerror(err));
}

static bool is_full(int err)
{
	return err == EAGAIN || err == ENOBUFS;
}

static bool note_full_socket(struct udp_link *l, const struct udp_message *m)
{
	l->link.counters.tx_blocked++;
	l->link.send_fd = m->flow->socket->fd;
	return false;
}

/*
 * Sends the message at tx->next as single packets, each with Identification 0. err: the errno if a
 * segmented send has just failed; else 0. The failure counts as a rejection of segmentation only if
 * the first packet is sent: a packet that is too long, or whose source address was removed, fails
 * in both forms. False: the socket is full; the message holds the rest.
 */
static bool send_singly(struct udp_link *l, int err)
{
	struct udp_message *m = &l->tx.message[l->tx.next];

	for (m->singly = true; m->segments; m->segments--) {
		uint32_t len = m->len < m->segment_len ? m->len : m->segment_len;
		unsigned tries = 0;
		ssize_t sent;

		write_icrc(begin_icrc(l, m, 0, len), m->data, len, 0);
		do
			sent = send_one(m, len, 0);
		while (sent < 0 && adv_udp_error_was_pending(l, errno, &tries));
		if (sent >= 0) {
			l->link.counters.tx_packets++;
			l->link.counters.tx_bytes += len;
			if (err)
				adv_udp_refusal_note(l, m, err);
		} else if (is_full(errno)) {
			return note_full_socket(l, m);
		} else {
			drop_segments(l, m, 1, errno);
		}
		err = 0;
		m->data += len;
		m->len -= len;
	}
	l->tx.next++;
	return true;
}

static bool may_reject_gso(int err)
{
	return err == EINVAL || err == EIO || err == EMSGSIZE || err == EOPNOTSUPP;
}

/* Handles the failure of the message at tx->next: sends it in another form, or drops it, or leaves
 * it for another try without the socket's option. False: the socket is full. */
static bool handle_failure(struct udp_link *l, int err)
{
	struct udp_message *m = &l->tx.message[l->tx.next];

	if (is_full(err))
		return note_full_socket(l, m);
	if (may_reject_gso(err) && adv_udp_segment_reset(m->flow->segment, m->flow->socket->fd))
		return true;
	if (m->segments > 1 && may_reject_gso(err))
		return send_singly(l, err);
	drop_segments(l, m, m->segments, err);
	l->tx.next++;
	return true;
}

/* Sends the messages from tx->next on that one call can send. False: the socket is full. */
static bool send_next_run(struct udp_link *l)
{
	struct udp_tx *tx = &l->tx;
	unsigned tries = 0;
	int sent;

	do
		sent = send_run(tx, run_length(tx));
	while (sent < 0 && adv_udp_error_was_pending(l, errno, &tries));
	if (sent < 0)
		return errno == EINTR || handle_failure(l, errno);
	count_sent(l, (unsigned)sent);
	tx->next += (unsigned)sent;
	return true;
}

/* Sends all messages from tx->next on. False: the socket is full. */
static bool send_all(struct udp_link *l)
{
	struct udp_tx *tx = &l->tx;

	while (tx->next < tx->count) {
		set_options(l, &tx->message[tx->next]);
		if (!send_next_run(l))
			return false;
	}
	l->link.send_fd = -1;
	return true;
}

/* True if packets of the flow need no control data and no change of an option, except for the
 * segment size. */
static bool is_plain(const struct udp_link *l, const struct udp_flow *f, int tos, int ttl)
{
	return !f->is_special && f->socket->tos == tos && f->socket->ttl == ttl &&
	       !l->refusal_count;
}

/* Sends len bytes. On failure, send_all() has to try again and to handle the errno. */
static bool send_plainly(struct udp_link *l, const struct udp_flow *f, const uint8_t *p,
			 uint32_t len, uint16_t packets)
{
	f->segment->streak = 0;
	if (adv_sys_try_sendto(f->socket->fd, p, len, 0, &f->to, f->to_len) < 0)
		return false;
	l->link.counters.tx_packets += packets;
	l->link.counters.tx_bytes += len;
	l->link.send_fd = -1;
	return true;
}

/* As udp_flow_recall(), if the path's memo does not tell. NULL: the packet is not plain. */
static __attribute__((noinline)) const struct udp_flow *
find_plain(struct udp_link *l, const struct adv_tx_packet *pkt, uint16_t target)
{
	const struct udp_flow *f = udp_flow_of(l, pkt->path, target);

	if (!f || !is_plain(l, f, tos_of(pkt), ttl_of(pkt->path, false)))
		return NULL;
	adv_udp_flow_memorize(l, f, pkt->path, pkt->ecn);
	return f;
}

/* Sends the only packet of a batch, without a message. False: it is not sent, because it needs a
 * message, or because the send failed. */
static bool send_packet(struct udp_link *l, const struct adv_tx_packet *pkt)
{
	const uint32_t len = packet_len(pkt);
	const uint16_t target = adv_qpn_target(pkt->dest_qpn);
	uint8_t *p = l->tx.bytes + UDP_FIRST_PACKET;
	const struct udp_flow *f;

	if (len > UDP_PACKET_MAX || pkt->icrc_flip)
		return false;
	f = udp_flow_recall(l, pkt->path, target, pkt->ecn);
	if (!f)
		f = find_plain(l, pkt, target);
	if (!f || !udp_segment_fits(f->segment, len, 0))
		return false;
	copy_packet(p, pkt);
	write_icrc(f->icrc ^ udp_length_effect(l, f->ipv4, len), p, len, 0);
	return send_plainly(l, f, p, len, 1);
}

/* Sends the only message of the batch. False as send_packet(). */
static bool send_message(struct udp_link *l)
{
	const struct udp_message *m = &l->tx.message[0];

	if (!is_plain(l, m->flow, m->tos, m->ttl) ||
	    !udp_segment_fits(m->flow->segment, m->len, division_of(m)) ||
	    !send_plainly(l, m->flow, m->data, m->len, m->segments))
		return false;
	l->tx.next = 1;
	return true;
}

bool adv_udp_flush(struct adv_link *link)
{
	struct udp_link *l = udp_link_of(link);
	const struct udp_tx *tx = &l->tx;

	if (tx->next < tx->count && tx->message[tx->next].singly && !send_singly(l, 0))
		return false;
	return send_all(l);
}

/* Sends a batch by messages, after the messages that wait for room in the socket. */
static __attribute__((noinline)) bool send_messages(struct udp_link *l, struct adv_tx_batch *batch)
{
	if (l->tx.next < l->tx.count && !adv_udp_flush(&l->link)) {
		l->link.counters.tx_dropped += batch->count;
		return false;
	}
	build_messages(l, batch);
	return (l->tx.count == 1 && send_message(l)) || send_all(l);
}

bool adv_udp_send(struct adv_link *link, struct adv_tx_batch *batch)
{
	struct udp_link *l = udp_link_of(link);

	return (batch->count == 1 && l->tx.next >= l->tx.count &&
		send_packet(l, &batch->packet[0])) ||
	       send_messages(l, batch);
}
