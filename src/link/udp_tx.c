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
#include "link/udp_internal.h"

#include <errno.h>

#include "base/log.h"
#include "base/sys.h"

/* Properties that a message and a packet appended to it must share. */
struct traits {
	struct udp_socket *socket;
	int tos;
	int ttl;
	bool multicast;
	uint16_t target;
};

static bool find_traits(struct udp_link *l, struct adv_tx_packet *pkt, struct traits *w)
{
	struct adv_path *path = pkt->path;

	if (adv_gid_is_ipv4(&path->sgid) != adv_gid_is_ipv4(&path->dgid))
		return false;
	w->target = adv_qpn_target(pkt->dest_qpn);
	w->socket = udp_socket_get(l, path, w->target);
	w->tos = (path->tclass & 0xfc) | (int)pkt->ecn;
	w->multicast = adv_gid_is_multicast(&path->dgid);
	/*
	 * On a fabric of one subnet, programs set a hop limit of 0 or 1. Drivers for RoCE v2 then
	 * use the route's hop limit instead. For a multicast group the program's value counts.
	 */
	if (path->hop_limit > 1)
		w->ttl = path->hop_limit;
	else
		w->ttl = w->multicast ? 1 : -1;
	return w->socket != NULL;
}

static uint32_t packet_len(const struct adv_tx_packet *pkt)
{
	return (uint32_t)pkt->header_len + pkt->payload_len + pkt->pad + ADV_ICRC_LEN;
}

static bool has_room_for(const struct udp_message *m, const struct adv_tx_packet *pkt, uint32_t len)
{
	return !m->alone && !pkt->icrc_flip && m->segments < UDP_GSO_SEGMENTS &&
	       m->len + len <= UDP_GSO_BYTES && len <= m->segment_len &&
	       m->len == (uint32_t)m->segments * m->segment_len;
}

static bool has_traits(const struct udp_message *m, const struct traits *w,
		       const struct adv_tx_packet *pkt)
{
	return m->socket == w->socket && m->tos == w->tos && m->ttl == w->ttl &&
	       m->target == w->target && adv_gid_equal(&m->dgid, &pkt->path->dgid) &&
	       (!m->socket->any_source || adv_gid_equal(&m->sgid, &pkt->path->sgid));
}

/* True if the packet has the path of the message, mostly because it is of the same queue pair. The
 * caller then does not need find_traits(). */
static bool has_same_path(const struct udp_message *m, const struct adv_tx_packet *pkt)
{
	return m->path == pkt->path && m->target == adv_qpn_target(pkt->dest_qpn) &&
	       (m->tos & ADV_ECN_MASK) == (int)pkt->ecn;
}

static bool is_link_local(const struct adv_gid *g)
{
	return g->raw[0] == 0xfe && (g->raw[1] & 0xc0) == 0x80;
}

static void fill_destination(const struct udp_link *l, struct udp_message *m)
{
	const struct adv_gid *g = &m->dgid;

	memset(&m->to, 0, sizeof(m->to));
	if (m->socket->ipv4) {
		m->to.in.sin_family = AF_INET;
		m->to.in.sin_port = htons(l->port);
		memcpy(&m->to.in.sin_addr, g->raw + 12, 4);
		return;
	}
	m->to.in6.sin6_family = AF_INET6;
	m->to.in6.sin6_port = htons(l->port);
	memcpy(&m->to.in6.sin6_addr, g->raw, 16);
	if (is_link_local(g) || m->multicast)
		m->to.in6.sin6_scope_id = m->ifindex;
}

static void fill_flow(const struct udp_link *l, struct udp_message *m)
{
	const struct udp_socket *s = m->socket;

	m->icrc = (struct adv_icrc_run){
		.flow = {.ipv4 = s->ipv4, .sport = s->port, .dport = l->port},
	};
	adv_icrc_flow_set_addresses(&m->icrc.flow, m->sgid.raw, m->dgid.raw);
}

static struct udp_message *start_message(struct udp_link *l, const struct traits *w,
					 const struct adv_tx_packet *pkt, uint8_t *data,
					 uint32_t len)
{
	struct udp_message *m = &l->tx.message[l->tx.count++];

	m->socket = w->socket;
	m->path = pkt->path;
	m->data = data;
	m->len = 0;
	m->segment_len = (uint16_t)len;
	m->segments = 0;
	m->tos = w->tos;
	m->ttl = w->ttl;
	m->multicast = w->multicast;
	m->target = w->target;
	m->ifindex =
		m->socket->any_source ? udp_ifindex_of(l, &pkt->path->sgid) : m->socket->ifindex;
	m->sgid = pkt->path->sgid;
	m->dgid = pkt->path->dgid;
	m->alone = pkt->icrc_flip || (l->refusal_count && udp_refusal_holds(l, &m->dgid));
	m->singly = false;
	fill_destination(l, m);
	fill_flow(l, m);
	return m;
}

/* Writes the ICRC of the packet at p. len: bytes of the packet, including the four of the ICRC. s:
 * the result of adv_icrc_begin(). */
static void write_icrc(adv_icrc_state s, uint8_t *p, uint32_t len, uint32_t flip)
{
	uint8_t *q = p + len - ADV_ICRC_LEN;
	uint32_t icrc = adv_icrc_finish(s, p, len - ADV_ICRC_LEN) ^ flip;

	q[0] = (uint8_t)icrc;
	q[1] = (uint8_t)(icrc >> 8);
	q[2] = (uint8_t)(icrc >> 16);
	q[3] = (uint8_t)(icrc >> 24);
}

static void append_packet(struct udp_link *l, struct udp_message *m,
			  const struct adv_tx_packet *pkt, uint32_t len)
{
	uint8_t *p = m->data + m->len;
	uint8_t *q = p + pkt->header_len;
	size_t left = pkt->payload_len;

	/* A copy of fixed length is faster. The bytes beyond the header are overwritten below. */
	memcpy(p, pkt->header, ADV_HEADERS_MAX);
	for (unsigned i = 0; i < pkt->iov_count; i++) {
		size_t n = pkt->iov[i].iov_len < left ? pkt->iov[i].iov_len : left;

		memcpy(q, pkt->iov[i].iov_base, n);
		q += n;
		left -= n;
	}
	memset(q, 0, left + pkt->pad);
	write_icrc(adv_icrc_run_begin(&m->icrc, m->segments, len), p, len, pkt->icrc_flip);
	m->len += len;
	m->segments++;
}

/* Returns the message for this packet: m or a new message. NULL: the packet cannot be sent. */
static struct udp_message *message_for(struct udp_link *l, struct udp_message *m,
				       struct adv_tx_packet *pkt, uint8_t *at, uint32_t len)
{
	bool room = m && has_room_for(m, pkt, len);
	struct traits want;

	if (room && has_same_path(m, pkt))
		return m;
	if (len > UDP_PACKET_MAX || !find_traits(l, pkt, &want))
		return NULL;
	return room && has_traits(m, &want, pkt) ? m : start_message(l, &want, pkt, at, len);
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
		append_packet(l, to, pkt, len);
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
static void set_options(const struct udp_message *m)
{
	struct udp_socket *s = m->socket;

	if (s->tos != m->tos) {
		set_option(s, IP_TOS, IPV6_TCLASS, m->tos);
		s->tos = m->tos;
	}
	if (m->multicast && s->multicast_ttl != m->ttl) {
		set_option(s, IP_MULTICAST_TTL, IPV6_MULTICAST_HOPS, m->ttl);
		s->multicast_ttl = m->ttl;
	}
	if (!m->multicast && s->ttl != m->ttl) {
		set_option(s, IP_TTL, IPV6_UNICAST_HOPS, m->ttl);
		s->ttl = m->ttl;
	}
}

/* Returns the number of messages from tx->next on that one call can send: those of one socket with
 * the same options. */
static unsigned run_length(const struct udp_tx *tx)
{
	const struct udp_message *first = &tx->message[tx->next];
	unsigned n = 1;

	while (tx->next + n < tx->count) {
		const struct udp_message *m = first + n;

		if (m->socket != first->socket || m->tos != first->tos || m->ttl != first->ttl ||
		    m->multicast != first->multicast)
			break;
		n++;
	}
	return n;
}

/* Names the source address if the socket has none. Returns the control bytes used. */
static size_t put_source(const struct udp_message *m, struct cmsghdr *c)
{
	struct in_pktinfo v4 = {0};
	struct in6_pktinfo v6 = {0};

	if (!m->socket->any_source)
		return 0;
	if (m->socket->ipv4) {
		memcpy(&v4.ipi_spec_dst, m->sgid.raw + 12, 4);
		c->cmsg_level = IPPROTO_IP;
		c->cmsg_type = IP_PKTINFO;
		c->cmsg_len = CMSG_LEN(sizeof(v4));
		memcpy(CMSG_DATA(c), &v4, sizeof(v4));
		return CMSG_SPACE(sizeof(v4));
	}
	memcpy(&v6.ipi6_addr, m->sgid.raw, 16);
	if (is_link_local(&m->sgid))
		v6.ipi6_ifindex = m->ifindex;
	c->cmsg_level = IPPROTO_IPV6;
	c->cmsg_type = IPV6_PKTINFO;
	c->cmsg_len = CMSG_LEN(sizeof(v6));
	memcpy(CMSG_DATA(c), &v6, sizeof(v6));
	return CMSG_SPACE(sizeof(v6));
}

static void fill_mmsg(struct udp_tx *tx, unsigned i)
{
	struct udp_message *m = &tx->message[i];
	struct msghdr *h = &tx->mmsg[i].msg_hdr;
	struct cmsghdr *c = &tx->control[i].align;
	size_t used = 0;

	tx->iov[i] = (struct iovec){m->data, m->len};
	*h = (struct msghdr){
		.msg_name = &m->to,
		.msg_namelen = m->socket->ipv4 ? sizeof(m->to.in) : sizeof(m->to.in6),
		.msg_iov = &tx->iov[i],
		.msg_iovlen = 1,
	};
	if (m->segments > 1) {
		c->cmsg_level = IPPROTO_UDP;
		c->cmsg_type = UDP_SEGMENT;
		c->cmsg_len = CMSG_LEN(sizeof(m->segment_len));
		memcpy(CMSG_DATA(c), &m->segment_len, sizeof(m->segment_len));
		used = CMSG_SPACE(sizeof(m->segment_len));
	}
	used += put_source(m, (struct cmsghdr *)(void *)(tx->control[i].space + used));
	if (used) {
		h->msg_control = c;
		h->msg_controllen = used;
	}
}

/* Sends the first len bytes of the message as one packet. Negative with errno on failure. */
static ssize_t send_packet(struct udp_message *m, uint32_t len)
{
	union {
		char space[CMSG_SPACE(sizeof(struct in6_pktinfo))];
		struct cmsghdr align;
	} control;
	struct iovec iov = {m->data, len};
	struct msghdr h = {
		.msg_name = &m->to,
		.msg_namelen = m->socket->ipv4 ? sizeof(m->to.in) : sizeof(m->to.in6),
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &control,
	};

	if (!m->socket->any_source)
		return adv_sys_sendto(m->socket->fd, m->data, len, 0, &m->to, h.msg_namelen);
	h.msg_controllen = put_source(m, &control.align);
	return adv_sys_sendmsg(m->socket->fd, &h, 0);
}

/* Sends n messages by one call. Returns the number of messages sent; -1 with errno if the first one
 * was not sent. */
static int send_run(struct udp_tx *tx, unsigned n)
{
	struct udp_message *m = &tx->message[tx->next];
	int fd = m->socket->fd;

	if (n == 1 && m->segments == 1)
		return send_packet(m, m->len) < 0 ? -1 : 1;
	for (unsigned i = 0; i < n; i++)
		fill_mmsg(tx, tx->next + i);
	if (n == 1)
		return adv_sys_sendmsg(fd, &tx->mmsg[tx->next].msg_hdr, 0) < 0 ? -1 : 1;
	return adv_sys_sendmmsg(fd, &tx->mmsg[tx->next], n, 0);
}

static void count_sent(struct udp_link *l, unsigned messages)
{
	for (unsigned i = 0; i < messages; i++) {
		const struct udp_message *m = &l->tx.message[l->tx.next + i];

		l->link.counters.tx_packets += m->segments;
		l->link.counters.tx_bytes += m->len;
		if (m->segments > 1 && l->refusal_count)
			udp_refusal_end(l, &m->dgid);
	}
}

/* Counts segments that cannot be sent as lost in the network; the transport retransmits or fails.
 */
static void drop_segments(struct udp_link *l, const struct udp_message *m, unsigned segments,
			  int err)
{
	struct udp_socket *s = m->socket;

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
	l->link.send_fd = m->socket->fd;
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

		write_icrc(adv_icrc_run_begin(&m->icrc, 0, len), m->data, len, 0);
		do
			sent = send_packet(m, len);
		while (sent < 0 && udp_error_was_pending(l, errno, &tries));
		if (sent >= 0) {
			l->link.counters.tx_packets++;
			l->link.counters.tx_bytes += len;
			if (err)
				udp_refusal_note(l, m, err);
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

/* Handles the failure of the message at tx->next. False: the socket is full. */
static bool handle_failure(struct udp_link *l, int err)
{
	struct udp_message *m = &l->tx.message[l->tx.next];

	if (is_full(err))
		return note_full_socket(l, m);
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
	while (sent < 0 && udp_error_was_pending(l, errno, &tries));
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
		set_options(&tx->message[tx->next]);
		if (!send_next_run(l))
			return false;
	}
	l->link.send_fd = -1;
	return true;
}

bool udp_flush(struct adv_link *link)
{
	struct udp_link *l = udp_link_of(link);
	const struct udp_tx *tx = &l->tx;

	if (tx->next < tx->count && tx->message[tx->next].singly && !send_singly(l, 0))
		return false;
	return send_all(l);
}

bool udp_send(struct adv_link *link, struct adv_tx_batch *batch)
{
	struct udp_link *l = udp_link_of(link);

	if (l->tx.next < l->tx.count && !udp_flush(link)) {
		l->link.counters.tx_dropped += batch->count;
		return false;
	}
	build_messages(l, batch);
	return send_all(l);
}
