/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Memory: its contents, the expected contents, and the guards around it. */
#include <stdlib.h>

#include "sim.h"

#define GUARD	   64
#define GUARD_BYTE 0xa5
#define ACCESS                                                                                     \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |               \
	 IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND | 3 << 8)

void *xcalloc(size_t n, size_t size)
{
	void *p = calloc(n ? n : 1, size ? size : 1);

	if (!p)
		abort();
	return p;
}

void *xrealloc(void *p, size_t size)
{
	p = realloc(p, size ? size : 1);
	if (!p)
		abort();
	return p;
}

/* ---- regions ---- */

struct region *region_open(struct host *h, uint64_t len)
{
	struct region *r = xcalloc(1, sizeof(*r));
	uint8_t *base = xcalloc(1, len + 2 * GUARD);

	memset(base, GUARD_BYTE, GUARD);
	memset(base + GUARD + len, GUARD_BYTE, GUARD);
	r->host = h;
	r->buf = base + GUARD;
	r->len = len;
	/* The address is fixed, so that all traces of a seed are equal. */
	r->iova = (uint64_t)(h->index + 1) << 48 | ++h->region_number << 28;
	r->mr = adv_mr_register(h->pd, r->buf, len, r->iova, ACCESS);
	REQUIRE(h->sim, r->mr, "a region cannot be registered");
	r->key = adv_mr_rkey(r->mr);
	r->next = h->regions;
	h->regions = r;
	return r;
}

static void check_guards(const struct region *r)
{
	for (unsigned i = 0; i < GUARD; i++)
		REQUIRE(r->host->sim,
			r->buf[-1 - (int)i] == GUARD_BYTE && r->buf[r->len + i] == GUARD_BYTE,
			"host %u: a byte outside of region %llx was written", r->host->index,
			(unsigned long long)r->iova);
}

/* Frees a region whose registration has ended with the host's engine. */
void region_close(struct region *r)
{
	struct region **at = &r->host->regions;

	check_guards(r);
	history_note(r->host->sim, "a region", r->buf, r->len);
	while (*at != r)
		at = &(*at)->next;
	*at = r->next;
	if (r->host->e && r->mr)
		REQUIRE(r->host->sim, adv_mr_deregister(r->mr) == 0,
			"host %u: a region cannot be deregistered", r->host->index);
	free(r->buf - GUARD);
	free(r);
}

/* Deregisters a region, also if requests that use it are outstanding. */
void region_withdraw(struct region *r)
{
	REQUIRE(r->host->sim, adv_mr_deregister(r->mr) == 0,
		"host %u: a region in use cannot be deregistered", r->host->index);
	r->mr = NULL;
}

void region_restore(struct region *r)
{
	if (r->mr)
		return;
	r->mr = adv_mr_register(r->host->pd, r->buf, r->len, r->iova, ACCESS);
	REQUIRE(r->host->sim, r->mr, "a region cannot be registered again");
	r->key = adv_mr_rkey(r->mr);
}

void regions_check(struct host *h)
{
	for (const struct region *r = h->regions; r; r = r->next)
		check_guards(r);
}

/* ---- contents ---- */

static uint64_t word(uint64_t id, uint64_t k)
{
	uint64_t z = (id + 1) * 0x9e3779b97f4a7c15u + k * 0xbf58476d1ce4e5b9u;

	/* The first word identifies the message, for transports that lose some. */
	return k == 0 ? id : z ^ (z >> 29);
}

void pattern_fill(uint8_t *to, uint64_t id, uint64_t offset, uint64_t len)
{
	while (len) {
		uint64_t w = word(id, offset / 8);
		uint64_t skip = offset % 8;
		uint64_t n = 8 - skip < len ? 8 - skip : len;

		memcpy(to, (uint8_t *)&w + skip, n);
		to += n;
		offset += n;
		len -= n;
	}
}

bool pattern_equal(const uint8_t *p, uint64_t id, uint64_t offset, uint64_t len)
{
	uint8_t want[512];

	while (len) {
		uint64_t n = len < sizeof(want) ? len : sizeof(want);

		pattern_fill(want, id, offset, n);
		if (memcmp(want, p, n) != 0)
			return false;
		p += n;
		offset += n;
		len -= n;
	}
	return true;
}

/* Splits a message into pieces. Some pieces are empty. Their order in memory differs from their
 * order in the message. */
void pieces_cut(struct sim *s, enum subject who, struct pieces *p, uint32_t len, unsigned max_sge)
{
	unsigned most = chance(s, who, 200) ? max_sge : (max_sge < 3 ? max_sge : 3);
	unsigned order[ADV_MAX_SGE];
	uint32_t left = len, at = 0;

	p->n = 1 + (unsigned)below(s, who, most);
	for (unsigned i = 0; i < p->n; i++) {
		p->piece[i].len = i == p->n - 1 ? left : (uint32_t)below(s, who, left / 2 + 2);
		if (p->piece[i].len > left)
			p->piece[i].len = left;
		left -= p->piece[i].len;
		order[i] = i;
	}
	for (unsigned i = p->n - 1; i > 0; i--) {
		unsigned k = (unsigned)below(s, who, i + 1), o = order[i];

		order[i] = order[k];
		order[k] = o;
	}
	for (unsigned i = 0; i < p->n; i++) {
		p->piece[order[i]].at = at;
		at += p->piece[order[i]].len;
	}
	if (len == 0 && chance(s, who, 500))
		p->n = 0;
}

void pieces_sges(const struct pieces *p, const struct region *r, uint64_t base, struct ibv_sge *sge)
{
	for (unsigned i = 0; i < p->n; i++)
		sge[i] = (struct ibv_sge){.addr = r->iova + base + p->piece[i].at,
					  .length = p->piece[i].len,
					  .lkey = r->key};
}

void pieces_fill(const struct pieces *p, uint8_t *base, uint64_t id)
{
	uint64_t offset = 0;

	for (unsigned i = 0; i < p->n; i++) {
		pattern_fill(base + p->piece[i].at, id, offset, p->piece[i].len);
		offset += p->piece[i].len;
	}
}

/* True if the first len bytes equal the message. If `rest`, all bytes after them must still be
 * 0xee. */
bool pieces_match(const struct pieces *p, const uint8_t *base, uint64_t id, uint32_t len, bool rest)
{
	uint64_t offset = 0;

	for (unsigned i = 0; i < p->n; i++) {
		const uint8_t *at = base + p->piece[i].at;
		uint32_t n = p->piece[i].len < len ? p->piece[i].len : len;

		if (!pattern_equal(at, id, offset, n))
			return false;
		for (uint32_t k = n; rest && k < p->piece[i].len; k++)
			if (at[k] != 0xee)
				return false;
		offset += n;
		len -= n;
	}
	return len == 0;
}

bool pieces_equal(const struct pieces *p, const uint8_t *base, const uint8_t *want)
{
	for (unsigned i = 0; i < p->n; i++) {
		if (memcmp(base + p->piece[i].at, want, p->piece[i].len) != 0)
			return false;
		want += p->piece[i].len;
	}
	return true;
}

/* ---- the model of an area ---- */

#define COUNTER_BYTES (8u * SIM_COUNTERS)

void area_open(struct area *a, struct host *h, uint32_t slot_size, unsigned slots)
{
	uint64_t len = COUNTER_BYTES + (uint64_t)slot_size * slots;

	memset(a, 0, sizeof(*a));
	a->slot_size = slot_size;
	a->slots = slots;
	a->r = region_open(h, len);
	a->posted = xcalloc(1, len);
	a->done = xcalloc(1, len);
}

void area_close(struct area *a)
{
	window_forget(a);
	free(a->frozen);
	if (a->r)
		region_close(a->r);
	free(a->posted);
	free(a->done);
	memset(a, 0, sizeof(*a));
}

static bool is_write(int opcode)
{
	return opcode == IBV_WR_RDMA_WRITE || opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
}

static uint64_t counter(const uint8_t *memory, unsigned i)
{
	uint64_t v;

	memcpy(&v, memory + 8 * i, sizeof(v));
	return v;
}

static bool is_counting(const struct request *q)
{
	return !q->shared &&
	       (q->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD ||
		q->opcode == IBV_WR_ATOMIC_CMP_AND_SWP || q->opcode == ADV_WR_ATOMIC_WRITE);
}

/* Applies a valid posted request to `posted`. */
void area_request(struct stream *st, struct request *q, uint64_t number)
{
	struct area *a = &st->area;

	if (is_write(q->opcode)) {
		pattern_fill(a->posted + q->offset, q->id, 0, q->len);
		a->last_writer[q->slot] = number + 1;
	} else if (q->opcode == IBV_WR_RDMA_READ) {
		q->expected = xcalloc(1, q->len);
		memcpy(q->expected, a->posted + q->offset, q->len);
		a->readers[q->slot]++;
	} else if (is_counting(q)) {
		memcpy(a->posted + 8 * q->counter, &q->value, sizeof(q->value));
	}
}

/* Checks a successful request: the peer's memory shows it, and returned data is right. */
void area_done(struct stream *st, struct request *q, uint64_t number)
{
	struct sim *s = st->from->host->sim;
	struct area *a = &st->area;
	const uint8_t *local = st->local->buf + (number % st->room) * (uint64_t)st->local_size;
	uint64_t v;

	if (is_write(q->opcode)) {
		if (a->r && !s->chaos && st->from->c->type != IBV_QPT_UC &&
		    a->last_writer[q->slot] == number + 1)
			REQUIRE(s,
				memcmp(a->r->buf + q->offset, a->posted + q->offset, q->len) == 0,
				"connection %u: a WRITE of %u bytes has completed, and is not "
				"there",
				st->from->c->index, q->len);
		if (a->r)
			pattern_fill(a->done + q->offset, q->id, 0, q->len);
	} else if (q->opcode == IBV_WR_RDMA_READ) {
		a->readers[q->slot]--;
		REQUIRE(s, s->chaos || pieces_equal(&q->pieces, local, q->expected),
			"connection %u: a READ of %u bytes has brought others", st->from->c->index,
			q->len);
	} else if (is_counting(q)) {
		if (a->r)
			memcpy(a->done + 8 * q->counter, &q->value, sizeof(q->value));
		if (q->opcode == ADV_WR_ATOMIC_WRITE)
			return;
		memcpy(&v, local + q->pieces.piece[0].at, sizeof(v));
		REQUIRE(s, s->chaos || v == q->original,
			"connection %u: an atomic found %llu instead of %llu", st->from->c->index,
			(unsigned long long)v, (unsigned long long)q->original);
	}
}

/* True if a byte has its old value or that of an unfinished request. */
static bool byte_explained(const struct stream *st, uint64_t at)
{
	uint8_t found = st->area.r->buf[at];

	if (found == st->area.done[at])
		return true;
	for (uint64_t i = st->posted > st->room ? st->posted - st->room : 0; i < st->posted; i++) {
		const struct request *q = &st->ring[i % st->room];
		uint8_t b;

		if (q->success || q->bad || !is_write(q->opcode) || at < q->offset ||
		    at >= q->offset + q->len)
			continue;
		pattern_fill(&b, q->id, at - q->offset, 1);
		if (b == found)
			return true;
	}
	return false;
}

/* True if a counter has a value of the model. Unfinished atomics may have been executed in order,
 * up to one of them. */
static bool counter_explained(const struct stream *st, unsigned n)
{
	uint64_t found = counter(st->area.r->buf, n);

	if (found == counter(st->area.done, n))
		return true;
	for (uint64_t i = st->posted > st->room ? st->posted - st->room : 0; i < st->posted; i++) {
		const struct request *q = &st->ring[i % st->room];

		if (!q->success && !q->bad && is_counting(q) && q->counter == n &&
		    q->value == found)
			return true;
	}
	return false;
}

static bool uc_word_explained(const struct stream *st, uint64_t at, unsigned n)
{
	const uint8_t *found = st->area.r->buf + at;
	static const uint8_t zeros[8];

	if (memcmp(found, zeros, n) == 0)
		return true;
	for (unsigned i = st->write_count; i > 0; i--) {
		const struct uc_write *w = &st->writes[i - 1];

		if (at >= w->offset && at + n <= (uint64_t)w->offset + w->len &&
		    pattern_equal(found, w->id, at - w->offset, n))
			return true;
	}
	/* If a WRITE ends within a word, the word has bytes of two requests. */
	return n > 1 && uc_word_explained(st, at, 1) && uc_word_explained(st, at + 1, n - 1);
}

/* Checks the area of a UC connection. UC may lose messages and parts of them, but all its data must
 * be that of a WRITE. */
static void uc_check(struct stream *st)
{
	uint64_t len = st->area.r->len;

	for (uint64_t at = COUNTER_BYTES; at < len; at += 8)
		REQUIRE(st->from->host->sim,
			uc_word_explained(st, at, len - at < 8 ? (unsigned)(len - at) : 8),
			"connection %u: UC has written what nobody sent", st->from->c->index);
}

/* Registers the unused area again, with another key and perhaps another address. */
void area_renew(struct stream *st)
{
	struct sim *s = st->from->host->sim;
	struct region *r = st->area.r;
	int err = 0;

	if (!r->mr || st->area.window_state == WINDOW_CHANGING)
		return;
	if (st->area.window_state == WINDOW_BOUND) {
		REQUIRE(s, adv_mr_deregister(r->mr) == EBUSY,
			"a region is deregistered under its window");
		return;
	}
	st->area.old_key = r->key;
	if (chance(s, TROUBLE, 500)) {
		err = adv_mr_reregister(r->mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, r->buf,
					r->len, r->iova, 0);
	} else {
		adv_mr_deregister(r->mr);
		r->iova = (uint64_t)(r->host->index + 1) << 48 | ++r->host->region_number << 28;
		r->mr = adv_mr_register(r->host->pd, r->buf, r->len, r->iova, ACCESS);
	}
	REQUIRE(s, r->mr && err == 0, "a region cannot be registered again");
	r->key = adv_mr_rkey(r->mr);
	REQUIRE(s, r->key != st->area.old_key, "a region registered anew has the old key");
}

/* Sets the model to the present memory. After a break, unfinished requests may be done, partly done
 * or not done. */
void area_settle(struct stream *st)
{
	struct sim *s = st->from->host->sim;
	struct area *a = &st->area;

	if (!a->r || !st->to->host->e)
		return;
	if (a->frozen)
		REQUIRE(s, s->chaos || memcmp(a->r->buf, a->frozen, a->r->len) == 0,
			"connection %u: memory was written after it was deregistered",
			st->from->c->index);
	free(a->frozen);
	a->frozen = NULL;
	if (st->from->c->type == IBV_QPT_UC) {
		if (!s->chaos)
			uc_check(st);
		return;
	}
	for (unsigned i = 0; i < SIM_COUNTERS && !s->chaos; i++)
		REQUIRE(s, counter_explained(st, i),
			"connection %u: counter %u has a value that no request gives it",
			st->from->c->index, i);
	for (uint64_t at = COUNTER_BYTES; at < a->r->len; at++)
		if (a->r->buf[at] != a->done[at] && !s->chaos)
			REQUIRE(s, byte_explained(st, at),
				"connection %u: byte %llu of the area is nobody's",
				st->from->c->index, (unsigned long long)at);
	memcpy(a->done, a->r->buf, a->r->len);
	memcpy(a->posted, a->r->buf, a->r->len);
	memset(a->last_writer, 0, sizeof(a->last_writer));
	memset(a->readers, 0, sizeof(a->readers));
}

/* True if bytes [at, at + n) of the area have their old value or that of an unfinished request. */
static bool piece_explained(const struct stream *st, uint64_t at, uint64_t n)
{
	if (memcmp(st->area.r->buf + at, st->area.done + at, n) == 0)
		return true;
	for (uint64_t i = at; i < at + n; i++)
		if (!byte_explained(st, i))
			return false;
	return true;
}

/* Checks an area after a packet: its guards, and a part of its contents. */
void area_glance(struct stream *st)
{
	struct sim *s = st->from->host->sim;
	struct area *a = &st->area;
	uint64_t n = 64, at;

	if (!a->r || s->chaos || st->from->c->type == IBV_QPT_UC)
		return;
	check_guards(a->r);
	at = COUNTER_BYTES + below(s, GLANCES, a->slots) * (uint64_t)a->slot_size;
	if (chance(s, GLANCES, 500))
		at += below(s, GLANCES, a->slot_size - n);
	REQUIRE(s, piece_explained(st, at, n),
		"connection %u: what is at byte %llu of the area was not written by anybody",
		st->from->c->index, (unsigned long long)at);
}

/* Checks the whole memory after all requests are done. */
void area_check(struct stream *st)
{
	struct sim *s = st->from->host->sim;

	if (!st->area.r || !st->to->host->e || s->chaos)
		return;
	if (st->from->c->type == IBV_QPT_UC) {
		uc_check(st);
		return;
	}
	for (uint64_t at = 0; at < st->area.r->len; at++)
		REQUIRE(s, st->area.r->buf[at] == st->area.posted[at],
			"connection %u: byte %llu of the area is %02x, not %02x",
			st->from->c->index, (unsigned long long)at, st->area.r->buf[at],
			st->area.posted[at]);
}
