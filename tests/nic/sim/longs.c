/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Long packets between hosts, as between processes of one machine (runtime/link/ring.h). The
 * payload of a long packet is either in the packet or away: then the receiver copies it from the
 * memory of the sender. Some of these copies fail. Unlike in shared memory, the network loses
 * packets.
 */
#include "sim.h"

/* Draws the subject. */
void longs_draw(struct sim *s)
{
	s->longs = chance(s, LONGS, 200) && !s->chaos;
	if (!s->longs)
		return;
	s->away_min = 512u << below(s, LONGS, 4);
	s->copy_most = 1024u << below(s, LONGS, 5);
	s->unreadable = chance(s, LONGS, 300) ? 0 : (unsigned)below(s, LONGS, 300);
}

static unsigned host_of(const struct adv_path *path)
{
	return path->dgid.raw[15] - 1u;
}

/* ---- sending ---- */

static uint32_t long_payload(void *user, const struct adv_path *path, uint32_t dest_qpn,
			     uint32_t length)
{
	const struct host *h = user;
	const struct sim *s = h->sim;
	unsigned to = host_of(path);

	/* The packets of one process go by UDP. */
	if (to == h->index)
		return 0;
	return length >= s->away_min && !s->host[to].copies_from[h->index] ? ADV_LONG_MAX
									   : s->copy_most;
}

static bool is_recalled_by(const struct flight *f, const struct host *h,
			   const struct adv_path *path, uintptr_t low, uintptr_t high)
{
	if (f->longs.from != h || !f->longs.away)
		return false;
	if (path)
		return f->longs.path == path;
	for (unsigned i = 0; i < f->longs.pieces; i++) {
		uintptr_t first = (uintptr_t)f->longs.piece[i].iov_base;

		if (first < high && low < first + f->longs.piece[i].iov_len)
			return true;
	}
	return false;
}

/* Recalls the packets of the host's path, or those with payload in [addr, addr + length). */
static void recall(void *user, const struct adv_path *path, const void *addr, uint64_t length)
{
	struct host *h = user;
	struct sim *s = h->sim;
	uintptr_t low = (uintptr_t)addr;

	for (unsigned i = 1; i <= s->flights; i++)
		if (is_recalled_by(s->heap[i], h, path, low, low + length))
			s->heap[i]->longs.recalled = true;
	for (struct adv_list *n = h->held.held.next; n != &h->held.held; n = n->next) {
		struct flight *f = (struct flight *)(void *)n;

		if (is_recalled_by(f, h, path, low, low + length))
			f->longs.recalled = true;
	}
}

void longs_open(struct host *h)
{
	if (h->sim->longs)
		adv_engine_set_long(h->e, long_payload, recall, h);
	memset(h->copies_from, 0, sizeof(h->copies_from));
}

/* Lets no host read the memory of a crashed host any more. */
void longs_crash(struct host *h)
{
	recall(h, NULL, NULL, UINTPTR_MAX);
}

/* Decides whether the payload is away. Checks the lengths of a long packet. */
void longs_send(struct host *h, const struct adv_tx_packet *pkt, struct flight *f)
{
	struct sim *s = h->sim;
	unsigned to = host_of(pkt->path);

	f->longs.from = h;
	f->longs.more = pkt->more;
	if (!pkt->more)
		return;
	REQUIRE(s, s->longs && to != h->index && pkt->more < ADV_LONG_PACKETS,
		"a packet that stands for %u further ones", pkt->more);
	s->total.longs++;
	f->longs.away = pkt->payload_len > s->copy_most ||
			(pkt->payload_len >= s->away_min && !s->host[to].copies_from[h->index]);
	if (!f->longs.away)
		return;
	REQUIRE(s, pkt->iov_count <= SIM_PIECES, "a long packet has %u pieces", pkt->iov_count);
	f->longs.path = pkt->path;
	f->longs.pieces = pkt->iov_count;
	memcpy(f->longs.piece, pkt->iov, pkt->iov_count * sizeof(*pkt->iov));
}

/* ---- receiving ---- */

/* Copies n bytes. */
static void copy_pieces(const struct flight *f, const struct iovec *to, size_t n)
{
	size_t in_from = 0, in_to = 0;
	unsigned i = 0;

	while (n) {
		size_t part = f->longs.piece[i].iov_len - in_from;

		part = part < to->iov_len - in_to ? part : to->iov_len - in_to;
		part = part < n ? part : n;
		memcpy((uint8_t *)to->iov_base + in_to,
		       (const uint8_t *)f->longs.piece[i].iov_base + in_from, part);
		in_from += part;
		in_to += part;
		n -= part;
		if (in_from == f->longs.piece[i].iov_len) {
			i++;
			in_from = 0;
		}
		if (in_to == to->iov_len) {
			to++;
			in_to = 0;
		}
	}
}

/* Nobody may read memory that its owner has deregistered. */
static void require_registered(const struct flight *f)
{
	for (unsigned i = 0; i < f->longs.pieces; i++) {
		const struct iovec *piece = &f->longs.piece[i];
		const struct region *r = f->longs.from->regions;

		while (r && !(r->mr && (uint8_t *)piece->iov_base >= r->buf &&
			      (uint8_t *)piece->iov_base + piece->iov_len <= r->buf + r->len))
			r = r->next;
		REQUIRE(f->longs.from->sim, r, "payload is read that is not registered");
	}
}

/* pull() of struct adv_rx_source. A copy that fails has copied some of the bytes. */
bool longs_pull(struct adv_rx_source *source, const struct iovec *to, unsigned count)
{
	struct flight *f = adv_container_of(source, struct flight, longs.source);
	struct sim *s = f->longs.from->sim;
	size_t room = 0;

	for (unsigned i = 0; i < count; i++)
		room += to[i].iov_len;
	REQUIRE(s, room == source->length && !f->longs.pulled,
		"a payload of %u bytes goes to %zu bytes", source->length, room);
	f->longs.pulled = true;
	if (f->longs.recalled)
		return false;
	require_registered(f);
	if (chance(s, LONGS, s->unreadable)) {
		copy_pieces(f, to, below(s, LONGS, source->length));
		s->host[f->to].copies_from[f->longs.from->index] = true;
		s->total.unread++;
		return false;
	}
	copy_pieces(f, to, source->length);
	s->total.pulls++;
	return true;
}

/* Lets hosts read the memory of others again, as after the start of a process. */
void longs_turn(struct sim *s)
{
	if (s->longs && chance(s, LONGS, 300))
		s->host[below(s, LONGS, s->host_count)]
			.copies_from[below(s, LONGS, s->host_count)] = false;
}

/* Overwrites the memory of a SEND or WRITE, as applications do once the request has completed or
 * its region is deregistered. */
void longs_reuse(struct stream *st, uint64_t number)
{
	const struct request *q = &st->ring[number % st->room];

	if (!st->from->host->sim->longs || !st->local)
		return;
	switch (q->opcode) {
	case IBV_WR_SEND:
	case IBV_WR_SEND_WITH_IMM:
	case IBV_WR_SEND_WITH_INV:
	case IBV_WR_RDMA_WRITE:
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		memset(st->local->buf + (number % st->room) * (uint64_t)st->local_size, 0xdb,
		       q->len);
		break;
	default:
		break;
	}
}
