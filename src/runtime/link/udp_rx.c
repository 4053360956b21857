/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Receiving: divides datagrams into packets and checks the ICRC of each packet. Most datagrams
 * contain several packets, which GRO or the sender's GSO keeps together.
 *
 * The ICRC covers the IPv4 Identification, which a socket does not report. A sender that uses UDP
 * GSO without a connection increments it from 0 with each segment, so the index of the segment is
 * tried first. If that does not fit, the Identification is computed from the ICRC:
 * - From another machine any value is accepted.
 * - From this machine only values that Adverb's own sender can have used are accepted. A datagram
 * of several segments crosses the loopback device unchanged, so the Identification must be the
 * index. A device without GSO may have made single packets of the segments; the Identification of
 * a single packet must therefore be 0 to 63.
 */
#include "runtime/link/udp_internal.h"

#include <endian.h>

#include "base/sys.h"
#include "base/bytes.h"

#define MIN_PACKET (ADV_BTH_LEN + ADV_ICRC_LEN)
#define STREAK	   4 /* consecutive datagrams received singly, until several are requested */

/* Bytes of a report with this much control data. */
#define REPORT_LEN(control_len) (offsetof(struct udp_report, control) + (control_len))

/* One datagram as the socket delivered it. */
struct datagram {
	const struct adv_rx_meta *meta;
	struct udp_source *source; /* addresses, ports and their part of the ICRC */
	const uint8_t *data;
	uint32_t len;
	uint32_t segment_len; /* UINT32_MAX: the datagram is one packet */
};

/* Restores the members that the kernel changed and that its next call reads. */
static void reset_header(struct msghdr *m)
{
	m->msg_namelen = sizeof(union udp_sockaddr);
	m->msg_controllen = UDP_RX_CONTROL;
}

static void forget_reports(struct udp_rx *rx)
{
	for (unsigned i = 0; i < UDP_KNOWN_REPORTS; i++)
		rx->known[i].control_len = SIZE_MAX;
}

void adv_udp_rx_init(struct udp_link *l)
{
	struct udp_rx *rx = &l->rx;

	for (unsigned i = 0; i < UDP_RX_BATCH; i++) {
		struct msghdr *m = &rx->mmsg[i].msg_hdr;

		rx->iov[i] = (struct iovec){rx->buffer[i] + UDP_FIRST_PACKET, UDP_RX_BUFFER};
		m->msg_iov = &rx->iov[i];
		m->msg_iovlen = 1;
		m->msg_name = &rx->report[i].from;
		m->msg_control = rx->report[i].control;
		reset_header(m);
	}
	forget_reports(rx);
}

static void gid_from_ipv4(struct adv_gid *gid, const void *addr)
{
	memset(gid->raw, 0, 10);
	gid->raw[10] = 0xff;
	gid->raw[11] = 0xff;
	memcpy(gid->raw + 12, addr, 4);
}

static bool read_source(struct adv_rx_meta *meta, const struct msghdr *m)
{
	const union udp_sockaddr *from = m->msg_name;

	if (m->msg_namelen >= sizeof(from->in6) && from->sa.sa_family == AF_INET6) {
		memcpy(meta->sgid.raw, &from->in6.sin6_addr, 16);
		meta->sport = ntohs(from->in6.sin6_port);
		return true;
	}
	if (m->msg_namelen >= sizeof(from->in) && from->sa.sa_family == AF_INET) {
		gid_from_ipv4(&meta->sgid, &from->in.sin_addr);
		meta->sport = ntohs(from->in.sin_port);
		return true;
	}
	return false;
}

/* Reads an item of control data that is an int. False: the item is another one. */
static bool read_int(const struct cmsghdr *c, int level, int type, int *value)
{
	if (c->cmsg_level != level || c->cmsg_type != type || c->cmsg_len < CMSG_LEN(sizeof(int)))
		return false;
	memcpy(value, CMSG_DATA(c), sizeof(int));
	return true;
}

/* Reads the control data. A dual-stack socket reports the type of service and time to live of IPv4
 * at the level of IPv4, and everything else at the level of IPv6. */
static bool read_control(struct datagram *d, struct adv_rx_meta *meta, struct msghdr *m)
{
	bool have_destination = false;

	d->segment_len = UINT32_MAX;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
		const void *p = CMSG_DATA(c);
		size_t n = c->cmsg_len - CMSG_LEN(0);
		int value;

		if (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_PKTINFO &&
		    n >= sizeof(struct in6_pktinfo)) {
			memcpy(meta->dgid.raw,
			       (const uint8_t *)p + offsetof(struct in6_pktinfo, ipi6_addr), 16);
			have_destination = true;
		} else if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_TOS && n >= 1) {
			meta->tclass = *(const uint8_t *)p;
		} else if (read_int(c, IPPROTO_IP, IP_TTL, &value) ||
			   read_int(c, IPPROTO_IPV6, IPV6_HOPLIMIT, &value)) {
			meta->hop_limit = (uint8_t)value;
		} else if (read_int(c, IPPROTO_UDP, UDP_GRO, &value)) {
			if (value <= 0)
				return false;
			d->segment_len = (uint32_t)value;
		} else if (read_int(c, IPPROTO_IPV6, IPV6_TCLASS, &value)) {
			meta->tclass = (uint8_t)value;
		} else if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_PKTINFO &&
			   n >= sizeof(struct in_pktinfo)) {
			gid_from_ipv4(&meta->dgid,
				      (const uint8_t *)p + offsetof(struct in_pktinfo, ipi_addr));
			have_destination = true;
		}
	}
	return have_destination;
}

static void fill_flow(const struct udp_link *l, const struct udp_source *s,
		      struct adv_icrc_flow *flow)
{
	*flow = (struct adv_icrc_flow){
		.ipv4 = s->ipv4, .sport = s->meta.sport, .dport = l->receive_port};
	adv_icrc_flow_set_addresses(flow, s->meta.sgid.raw, s->meta.dgid.raw);
}

/* Returns the entry for the addresses and ports of `meta`. NULL: the addresses are of two
 * families. */
static struct udp_source *find_source(struct udp_link *l, const struct adv_rx_meta *meta)
{
	unsigned place = meta->sgid.raw[15] + meta->sgid.raw[14] * 7u + meta->sport;
	struct udp_source *s = &l->rx.source[place % UDP_SOURCES];
	struct adv_icrc_flow flow;

	if (s->used && s->meta.sport == meta->sport && adv_gid_equal(&s->meta.sgid, &meta->sgid) &&
	    adv_gid_equal(&s->meta.dgid, &meta->dgid))
		return s;
	if (adv_gid_is_ipv4(&meta->sgid) != adv_gid_is_ipv4(&meta->dgid))
		return NULL;
	forget_reports(&l->rx); /* one of them may refer to the entry */
	s->used = true;
	s->ipv4 = adv_gid_is_ipv4(&meta->sgid);
	s->meta = *meta;
	fill_flow(l, s, &flow);
	s->icrc = adv_icrc_begin(&flow, 0, 0);
	return s;
}

/*
 * Returns the Identification that yields the ICRC `found`, or -1; `computed` is the ICRC for id.
 * The ICRC is affine in the Identification, so the difference of the ICRCs gives the bits that
 * differ. If there is no solution, tries again with Don't Fragment clear, as other stacks may send
 * it.
 */
static int solve_id(const struct udp_link *l, const struct udp_source *s, bool own,
		    const uint8_t *p, uint32_t len, uint32_t found, uint32_t computed, uint16_t id)
{
	struct adv_icrc_flow fragmentable;
	uint16_t difference;

	if (!adv_icrc_solve_id(found, computed, len, &difference)) {
		fill_flow(l, s, &fragmentable);
		fragmentable.ipv4_no_df = true;
		computed = adv_icrc_finish(adv_icrc_begin(&fragmentable, id, len), p,
					   len - ADV_ICRC_LEN);
		if (own || !adv_icrc_solve_id(found, computed, len, &difference))
			return -1;
	}
	id ^= difference;
	return own && id >= UDP_GSO_SEGMENTS ? -1 : id;
}

/* Handles an ICRC that does not fit the expected Identification id. Returns another one that it
 * fits, and that the sender may have used; -1: there is none. */
static int find_other_id(const struct udp_link *l, const struct datagram *d, const uint8_t *p,
			 uint32_t len, uint32_t found, uint32_t computed, uint16_t id)
{
	bool own;

	if (!d->source->ipv4)
		return -1;
	own = adv_udp_is_own_address(&l->link, &d->source->meta.sgid);
	if (own && d->segment_len < d->len)
		return -1;
	return solve_id(l, d->source, own, p, len, found, computed, id);
}

static __attribute__((noinline)) bool is_in_ranges(const struct udp_link *l, uint32_t qpn)
{
	for (unsigned i = 0; i < l->range_count; i++)
		if (!l->range[i].qpn_count || qpn - l->range[i].qpn_first < l->range[i].qpn_count)
			return true;
	return qpn == ADV_QPN_MULTICAST;
}

static inline bool is_accepted_qpn(const struct udp_link *l, const uint8_t *bth)
{
	uint32_t qpn = adv_get_be32(bth + 4) & ADV_QPN_MASK;

	return qpn - l->range[0].qpn_first < l->range[0].qpn_count || is_in_ranges(l, qpn);
}

static bool is_packet_len(uint32_t len)
{
	return len >= MIN_PACKET && len <= UDP_PACKET_MAX && len % 4 == 0;
}

/* Delivers the packets of a datagram. */
static unsigned deliver_packets(struct udp_link *l, const struct datagram *d, adv_link_rx_fn *fn,
				void *user)
{
	struct adv_link_counters *count = &l->link.counters;
	struct adv_rx_packet pkt = {.meta = d->meta,
				    .datagram = d->len > d->segment_len ? ++l->rx.datagrams : 0};
	const uint8_t *p = d->data, *const end = p + d->len;
	const uint32_t segment_len = d->segment_len;
	const bool ipv4 = d->source->ipv4;
	adv_icrc_state begun = 0; /* of packets of len bytes with Identification 0 */
	uint32_t found, computed, len = 0;
	unsigned packets = 0;
	bool valid = false;
	int id = 0, other;

	for (; p < end; p += len, packets++, id++) {
		uint32_t left = (uint32_t)(end - p);

		if (len != segment_len || left < len) {
			len = left < segment_len ? left : segment_len;
			valid = is_packet_len(len);
			begun = d->source->icrc ^ (valid ? udp_length_effect(l, ipv4, len) : 0);
		}
		if (!valid) {
			count->rx_malformed++;
			continue;
		}
		memcpy(&found, p + len - ADV_ICRC_LEN, sizeof(found));
		found = le32toh(found);
		computed =
			adv_icrc_finish(ipv4 ? begun ^ adv_icrc_id_effect_of((uint16_t)id) : begun,
					p, len - ADV_ICRC_LEN);
		if (computed != found) {
			other = find_other_id(l, d, p, len, found, computed, (uint16_t)id);
			if (other < 0) {
				count->rx_icrc_errors++;
				continue;
			}
			id = other;
		}
		if (!is_accepted_qpn(l, p)) {
			count->rx_misdelivered++;
			continue;
		}
		pkt.data = p;
		pkt.len = len - ADV_ICRC_LEN;
		fn(user, &pkt);
	}
	count->rx_packets += packets;
	count->rx_bytes += d->len;
	return packets;
}

/* Reads a report that is not known, and remembers it. False: it is not complete. */
static bool read_new_report(struct udp_link *l, struct udp_known_report *k, struct datagram *d,
			    struct msghdr *m)
{
	struct adv_rx_meta meta = {.slot = 0};

	if (!read_source(&meta, m) || !read_control(d, &meta, m))
		return false;
	d->source = find_source(l, &meta);
	if (!d->source)
		return false;
	memcpy(&k->report, m->msg_name, REPORT_LEN(m->msg_controllen));
	k->name_len = m->msg_namelen;
	k->control_len = m->msg_controllen;
	k->source = d->source;
	k->segment_len = d->segment_len;
	k->single_len = UINT32_MAX;
	k->meta = meta;
	return true;
}

/* Returns the place of the report of a datagram. */
static struct udp_known_report *report_at(struct udp_link *l, uint32_t len)
{
	return &l->rx.known[(len >> 2 ^ len >> 9) % UDP_KNOWN_REPORTS];
}

/* True if the report of a datagram is equal to that of an earlier one. */
static inline bool is_known(const struct udp_known_report *k, const struct msghdr *m)
{
	return m->msg_controllen == k->control_len && m->msg_namelen == k->name_len &&
	       memcmp(m->msg_name, &k->report, REPORT_LEN(k->control_len)) == 0;
}

/* Notes that a datagram with this report is one packet of len bytes. */
static void remember_single(struct udp_link *l, struct udp_known_report *k, uint32_t len)
{
	k->single_len = len;
	k->single_icrc = k->source->icrc ^ udp_length_effect(l, k->source->ipv4, len);
	k->single = (struct adv_rx_packet){.meta = &k->meta, .len = len - ADV_ICRC_LEN};
}

/* Handles a datagram of any kind. known: its report is known. */
static __attribute__((noinline)) unsigned receive_any(struct udp_link *l, struct mmsghdr *mmsg,
						      bool known, adv_link_rx_fn *fn, void *user)
{
	struct msghdr *m = &mmsg->msg_hdr;
	struct datagram d = {.data = m->msg_iov->iov_base, .len = mmsg->msg_len};
	struct udp_known_report *k = report_at(l, d.len);
	bool good;

	d.meta = &k->meta;
	d.source = k->source;
	d.segment_len = k->segment_len;
	good = d.len > 0 && !(m->msg_flags & (MSG_TRUNC | MSG_CTRUNC)) &&
	       (known || read_new_report(l, k, &d, m));
	reset_header(m);
	if (!good) {
		l->link.counters.rx_packets++;
		l->link.counters.rx_malformed++;
		return 1;
	}
	if (d.len <= d.segment_len && is_packet_len(d.len))
		remember_single(l, k, d.len);
	return deliver_packets(l, &d, fn, user);
}

/*
 * Handles one datagram, and makes its header ready for the next. Mostly the datagram is one packet
 * as long as the last one with an equal report, and its Identification is 0: then the first state
 * of its ICRC is known, too. This function and the next two are not inline, so that
 * adv_udp_receive() is short when no datagram is queued.
 */
static __attribute__((noinline)) unsigned receive_datagram(struct udp_link *l, struct mmsghdr *mmsg,
							   adv_link_rx_fn *fn, void *user)
{
	struct msghdr *m = &mmsg->msg_hdr;
	struct udp_known_report *k = report_at(l, mmsg->msg_len);
	const uint8_t *p;
	uint32_t found;

	if (!is_known(k, m))
		return receive_any(l, mmsg, false, fn, user);
	if (mmsg->msg_len != k->single_len || m->msg_flags & (MSG_TRUNC | MSG_CTRUNC))
		return receive_any(l, mmsg, true, fn, user);
	p = m->msg_iov->iov_base;
	memcpy(&found, p + k->single.len, sizeof(found));
	if (adv_icrc_finish(k->single_icrc, p, k->single.len) != le32toh(found) ||
	    !is_accepted_qpn(l, p))
		return receive_any(l, mmsg, true, fn, user);
	reset_header(m);
	k->single.data = p;
	l->link.counters.rx_packets++;
	l->link.counters.rx_bytes += k->single_len;
	fn(user, &k->single);
	return 1;
}

/* Receives batches of datagrams as long as they are full. The batch size shrinks if they are not.
 */
static __attribute__((noinline)) unsigned receive_batches(struct udp_link *l, unsigned budget,
							  adv_link_rx_fn *fn, void *user)
{
	struct udp_receiver *from = &l->receiver;
	unsigned packets = 0, asked, got;

	do {
		ssize_t r;

		asked = from->vlen;
		r = adv_sys_recvmmsg(from->fd, l->rx.mmsg, asked, MSG_DONTWAIT);
		got = r < 0 ? 0 : (unsigned)r;
		for (unsigned i = 0; i < got; i++)
			packets += receive_datagram(l, &l->rx.mmsg[i], fn, user);
		if (got == asked && from->vlen < UDP_RX_BATCH)
			from->vlen *= 2;
	} while (got == asked && packets < budget);
	if (got < asked) {
		from->streak = 0;
		if (got <= asked / 2)
			from->vlen = asked / 2;
	}
	return packets;
}

/* Handles the datagram of r bytes that was received by a call for one. */
static __attribute__((noinline)) unsigned receive_one(struct udp_link *l, ssize_t r,
						      adv_link_rx_fn *fn, void *user)
{
	l->rx.mmsg[0].msg_len = (unsigned)r;
	if (++l->receiver.streak >= STREAK)
		l->receiver.vlen = 2;
	return receive_datagram(l, &l->rx.mmsg[0], fn, user);
}

/*
 * The size of the next batch grows while calls return full batches. recvmsg() is fastest for a
 * single packet. recvmmsg() is faster only if several datagrams are queued.
 */
unsigned adv_udp_receive(struct adv_link *link, unsigned budget, adv_link_rx_fn *fn, void *user)
{
	struct udp_link *l = udp_link_of(link);
	ssize_t r;

	if (l->receiver.vlen > 1)
		return receive_batches(l, budget, fn, user);
	r = adv_sys_try_recvmsg(l->receiver.fd, &l->rx.mmsg[0].msg_hdr, MSG_DONTWAIT);
	if (r >= 0)
		return receive_one(l, r, fn, user);
	l->receiver.streak = 0;
	return 0;
}
