/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A record consists of a word, the properties of the packet if they differ from those of the
 * previous packet, and the packet. An ACK may precede the packet, so that both share a cache line:
 * two programs that answer each other send an ACK and an answer each time. The writer first clears
 * the word of the next record, and writes the record's own word last. So the reader polls one cache
 * line only: the one that it will read.
 */
#include "runtime/link/ring.h"

#include <string.h>

#include "base/clock.h"
#include "base/copy.h"
#include "base/list.h"

#define LINE	 64u
#define WORD_LEN ((uint32_t)sizeof(uint32_t))

/* Bits of the word. 0: there is no record here yet. */
#define LEN_MASK   0xffffu     /* bytes of the packet; AWAY: of struct away_record */
#define WITH_META  0x00010000u /* struct adv_rx_meta precedes the packet */
#define BAD_ICRC   0x00020000u
#define MORE_SHIFT 18	       /* 6 bits: adv_tx_packet.more */
#define AWAY	   0x01000000u /* the payload is in the writer's memory */
/* Changes of a record with AWAY. The reader exchanges the word for one with TAKEN before it reads
 * the payload, and stores DONE later. The writer exchanges it for one with RECALLED. */
#define TAKEN	    0x02000000u
#define RECALLED    0x04000000u
#define DONE	    0x08000000u
#define LED	    0x10000000u /* a packet of ADV_RING_LEAD_LEN bytes precedes the packet */
#define SKIP	    0x40000000u /* not a record; the next record is SKIP_MASK lines behind this */
#define SKIP_MASK   0x00ffffffu
#define VALID	    0x80000000u

#define SHOWN_PARTS 64 /* the reader updates its tail once per 1/64 of the memory */
/* If the reader keeps up, the writer uses little more than 1/16 of the memory: it stays in the
 * caches of both sides, and the rest is never touched. */
#define HOT_PARTS  16
#define PACKET_MAX (ADV_HEADERS_MAX + ADV_RING_COPY_MAX)
_Static_assert(PACKET_MAX <= LEN_MASK, "the length has room in the word");
_Static_assert((ADV_LONG_PACKETS - 1) << MORE_SHIFT < AWAY, "`more` has room in the word");

#define PIECES_MAX 4 /* ranges of memory of a payload that is away */

/* The packet of a record with AWAY, without its unused pieces. */
struct away_record {
	uint8_t header[ADV_HEADERS_MAX];
	uint8_t header_len;
	uint8_t pad;
	uint16_t pieces;
	uint32_t zero;
	struct adv_pull_piece piece[PIECES_MAX];
};

static _Atomic uint32_t *word_at(struct adv_ring_memory *m, uint32_t offset)
{
	return (_Atomic uint32_t *)(void *)(m->bytes + offset);
}

static uint32_t record_len(uint32_t data_len)
{
	return (WORD_LEN + data_len + LINE - 1) & ~(LINE - 1);
}

/* ---- writing -------------------------------------------------------------------------- */

void adv_ring_writer_init(struct adv_ring_writer *w, void *memory, uint32_t size)
{
	*w = (struct adv_ring_writer){.memory = memory, .size = size};
}

/* True if nothing unread is in the `need` bytes at this position and in the word behind them. */
static bool is_free(const struct adv_ring_writer *w, uint64_t at, uint32_t need)
{
	uint64_t end = at + need + LINE;

	return end - w->tail <= w->size ||
	       (at >= w->hole + w->size && end <= w->hole_end + w->size);
}

/* Like is_free(), but reads the reader's tail if that is necessary. */
static bool has_room(struct adv_ring_writer *w, uint64_t at, uint32_t need)
{
	uint64_t tail;

	if (is_free(w, at, need))
		return true;
	tail = atomic_load_explicit(&w->memory->tail, memory_order_acquire);
	if (tail < w->tail || tail > w->head)
		return false;
	w->tail = tail;
	return is_free(w, at, need);
}

bool adv_ring_has_reader(const struct adv_ring_writer *w)
{
	return atomic_load_explicit(&w->memory->bell, memory_order_relaxed) != 0;
}

bool adv_ring_withdraw(struct adv_ring_writer *w)
{
	uint32_t first = atomic_load_explicit(word_at(w->memory, 0), memory_order_relaxed);

	atomic_store_explicit(word_at(w->memory, 0), 0, memory_order_relaxed);
	/* Pairs with adv_ring_reader_init(): either this side sees the reader's bell, or the reader
	 * sees no packet. */
	atomic_thread_fence(memory_order_seq_cst);
	if (adv_ring_has_reader(w)) {
		atomic_store_explicit(word_at(w->memory, 0), first, memory_order_release);
		return false;
	}
	adv_ring_writer_init(w, w->memory, w->size);
	return true;
}

static uint8_t tclass_of(const struct adv_tx_packet *pkt)
{
	return (uint8_t)((pkt->path->tclass & 0xfc) | (unsigned)pkt->ecn);
}

/* True if *meta, the properties of the previous packet, also holds for pkt. */
static bool has_same_meta(const struct adv_rx_meta *meta, const struct adv_tx_packet *pkt)
{
	const struct adv_path *path = pkt->path;

	return adv_gid_equal(&meta->dgid, &path->dgid) && adv_gid_equal(&meta->sgid, &path->sgid) &&
	       meta->sport == path->sport && meta->tclass == tclass_of(pkt) &&
	       meta->hop_limit == path->hop_limit;
}

static void fill_meta(struct adv_rx_meta *meta, const struct adv_tx_packet *pkt)
{
	memset(meta, 0, sizeof(*meta)); /* the reader gets the structure's padding too */
	meta->sgid = pkt->path->sgid;
	meta->dgid = pkt->path->dgid;
	meta->sport = pkt->path->sport;
	meta->tclass = tclass_of(pkt);
	meta->hop_limit = pkt->path->hop_limit;
}

/* Copies the header. The compiler inlines memcpy() of a constant length. */
static uint8_t *write_header(uint8_t *p, const struct adv_tx_packet *pkt)
{
	switch (pkt->header_len) {
	case 12: /* SEND, and MIDDLE packets */
		memcpy(p, pkt->header, 12);
		break;
	case 16: /* ACK and NAK */
		memcpy(p, pkt->header, 16);
		break;
	case 28: /* WRITE, READ */
		memcpy(p, pkt->header, 28);
		break;
	default:
		memcpy(p, pkt->header, pkt->header_len);
	}
	return p + pkt->header_len;
}

static void write_packet(uint8_t *p, const struct adv_tx_packet *pkt)
{
	size_t left = pkt->payload_len;

	p = write_header(p, pkt);
	for (unsigned i = 0; i < pkt->iov_count; i++) {
		size_t n = pkt->iov[i].iov_len < left ? pkt->iov[i].iov_len : left;

		adv_copy(p, pkt->iov[i].iov_base, n);
		p += n;
		left -= n;
	}
	if (left + pkt->pad)
		memset(p, 0, left + pkt->pad);
}

static void clear_word(struct adv_ring_writer *w, uint32_t offset)
{
	atomic_store_explicit(word_at(w->memory, offset), 0, memory_order_relaxed);
}

/* Moves the writer ahead to a position where is_free() is true. */
static void skip_to(struct adv_ring_writer *w, uint64_t at)
{
	uint32_t lines = (uint32_t)(at - w->head) / LINE;

	clear_word(w, (uint32_t)(at & (w->size - 1)));
	atomic_store_explicit(word_at(w->memory, (uint32_t)(w->head & (w->size - 1))),
			      VALID | SKIP | lines, memory_order_release);
	w->head = at;
}

/*
 * Moves the writer to a place for a record of `need` bytes: where it is, or to the start of the
 * memory. The writer returns to the start early if the reader keeps up (HOT_PARTS). If the reader
 * then falls behind, the writer goes on where it has left the memory: that part, the hole, is
 * empty. So the ring holds as much as if the writer always went to the end. False: the ring has no
 * room.
 */
static bool find_place(struct adv_ring_writer *w, uint32_t need)
{
	uint32_t offset = (uint32_t)(w->head & (w->size - 1));
	uint64_t start = w->head - offset + w->size, hole = w->hole + w->size;
	uint32_t hot = w->size / HOT_PARTS;

	if (offset >= hot && has_room(w, start, need > hot / 2 ? need : hot / 2)) {
		w->hole = w->head + LINE; /* the reader has to read the word before it */
		w->hole_end = start;
	} else if (need <= w->size - offset) {
		if (has_room(w, w->head, need))
			return true;
		if (w->head >= hole || !is_free(w, hole, need))
			return false;
		start = hole;
	} else if (!has_room(w, start, need)) {
		return false;
	}
	skip_to(w, start);
	return true;
}

/* ---- payload that is away ---- */

static uint32_t away_len(unsigned pieces)
{
	return (uint32_t)(offsetof(struct away_record, piece) +
			  pieces * sizeof(struct adv_pull_piece));
}

uint32_t adv_ring_long_payload(const struct adv_ring_writer *w, uint32_t length)
{
	uint32_t longs = atomic_load_explicit(&w->memory->longs, memory_order_relaxed);

	if (longs == ADV_RING_NO_LONGS)
		return 0;
	if (longs == ADV_RING_PULLS && length >= ADV_RING_AWAY_MIN)
		return ADV_LONG_MAX;
	return w->size / 8 < ADV_RING_COPY_MAX ? w->size / 8 : ADV_RING_COPY_MAX;
}

static bool goes_away(const struct adv_ring_writer *w, const struct adv_tx_packet *pkt)
{
	if (!pkt->more || pkt->payload_len < ADV_RING_AWAY_MIN || pkt->iov_count > PIECES_MAX)
		return false;
	return pkt->payload_len > ADV_RING_COPY_MAX ||
	       atomic_load_explicit(&w->memory->longs, memory_order_relaxed) == ADV_RING_PULLS;
}

static void write_away(uint8_t *p, const struct adv_tx_packet *pkt)
{
	struct away_record r = {
		.header_len = pkt->header_len, .pad = pkt->pad, .pieces = pkt->iov_count};

	memcpy(r.header, pkt->header, pkt->header_len);
	for (unsigned i = 0; i < pkt->iov_count; i++) {
		r.piece[i].address = (uintptr_t)pkt->iov[i].iov_base;
		r.piece[i].length = pkt->iov[i].iov_len;
	}
	memcpy(p, &r, away_len(pkt->iov_count));
}

/* Returns the word of a packet that is away; NULL: the reader is past it. */
static _Atomic uint32_t *away_word(const struct adv_ring_writer *w, const struct adv_ring_away *a)
{
	return a->at < w->tail ? NULL : word_at(w->memory, (uint32_t)(a->at & (w->size - 1)));
}

/* Forgets the oldest packets that the reader has finished. */
static void forget_away(struct adv_ring_writer *w)
{
	while (w->away_tail != w->away_head) {
		const struct adv_ring_away *a = &w->away[w->away_tail % ADV_RING_AWAY];
		_Atomic uint32_t *word = away_word(w, a);

		if (word && !a->finished &&
		    !(atomic_load_explicit(word, memory_order_acquire) & DONE))
			break;
		w->away_tail++;
	}
}

/* False: all ADV_RING_AWAY are in use. */
static bool has_room_for_away(struct adv_ring_writer *w)
{
	if (w->away_head - w->away_tail < ADV_RING_AWAY)
		return true;
	forget_away(w);
	return w->away_head - w->away_tail < ADV_RING_AWAY;
}

static void remember_away(struct adv_ring_writer *w, uint64_t at, const struct adv_tx_packet *pkt)
{
	struct adv_ring_away *a = &w->away[w->away_head++ % ADV_RING_AWAY];

	*a = (struct adv_ring_away){.at = at, .path = pkt->path, .low = UINTPTR_MAX};
	for (unsigned i = 0; i < pkt->iov_count; i++) {
		uintptr_t low = (uintptr_t)pkt->iov[i].iov_base;

		a->low = low < a->low ? low : a->low;
		a->high = low + pkt->iov[i].iov_len > a->high ? low + pkt->iov[i].iov_len : a->high;
	}
}

/* Recalls one packet. False: the reader is reading its payload. */
static bool recall_one(const struct adv_ring_writer *w, struct adv_ring_away *a)
{
	_Atomic uint32_t *word = away_word(w, a);
	uint32_t seen;

	if (!word || a->finished)
		return true;
	if (!a->recalled) {
		seen = atomic_load_explicit(word, memory_order_acquire);
		seen = atomic_exchange_explicit(word, seen | RECALLED, memory_order_acq_rel);
		a->recalled = true;
		a->finished = seen & DONE;
		a->reading = (seen & TAKEN) && !a->finished;
	}
	if (a->reading && (atomic_load_explicit(word, memory_order_acquire) & DONE))
		a->reading = false;
	return !a->reading;
}

bool adv_ring_recall(struct adv_ring_writer *w, const struct adv_path *path, uintptr_t low,
		     uintptr_t high)
{
	bool all = true;

	forget_away(w);
	for (uint32_t i = w->away_tail; i != w->away_head; i++) {
		struct adv_ring_away *a = &w->away[i % ADV_RING_AWAY];

		if (path ? a->path == path : a->low < high && low < a->high)
			all = recall_one(w, a) && all;
	}
	return all;
}

/* ---- packets ---- */

/* Writes a packet behind another one, or alone if lead is NULL. */
static inline __attribute__((always_inline)) bool put_record(struct adv_ring_writer *w,
							     const struct adv_tx_packet *lead,
							     const struct adv_tx_packet *pkt)
{
	bool away = !lead && goes_away(w, pkt);
	uint32_t len =
		away ? away_len(pkt->iov_count) : pkt->header_len + pkt->payload_len + pkt->pad;
	uint32_t word =
		VALID | len | pkt->more << MORE_SHIFT | (away ? AWAY : 0) | (lead ? LED : 0);
	uint32_t lead_len = lead ? ADV_RING_LEAD_LEN : 0, need = record_len(lead_len + len);
	uint32_t offset;
	uint8_t *p;

	if (len > PACKET_MAX || (away && !has_room_for_away(w)))
		return false;
	if (!has_same_meta(&w->meta, pkt)) {
		word |= WITH_META;
		need = record_len((uint32_t)sizeof(w->meta) + lead_len + len);
	}
	if (pkt->icrc_flip)
		word |= BAD_ICRC;
	if (!find_place(w, need))
		return false;
	offset = (uint32_t)(w->head & (w->size - 1));
	p = w->memory->bytes + offset + WORD_LEN;
	if (away)
		remember_away(w, w->head, pkt);
	w->head += need;
	/* The next word is cleared first. Otherwise the reader could fetch the line that it polls
	 * between two stores of the writer to that line. */
	clear_word(w, (uint32_t)(w->head & (w->size - 1)));
	if (word & WITH_META) {
		fill_meta(&w->meta, pkt);
		memcpy(p, &w->meta, sizeof(w->meta));
		p += sizeof(w->meta);
	}
	if (lead) {
		memcpy(p, lead->header, ADV_RING_LEAD_LEN);
		p += ADV_RING_LEAD_LEN;
	}
	if (away)
		write_away(p, pkt);
	else
		write_packet(p, pkt);
	atomic_store_explicit(word_at(w->memory, offset), word, memory_order_release);
	/* Writing the next record clears the word of this line, and waits for the line then. */
	__builtin_prefetch(word_at(w->memory, (uint32_t)((w->head + LINE) & (w->size - 1))), 1);
	return true;
}

bool adv_ring_put(struct adv_ring_writer *w, const struct adv_tx_packet *pkt)
{
	return put_record(w, NULL, pkt);
}

bool adv_ring_put_led(struct adv_ring_writer *w, const struct adv_tx_packet *lead,
		      const struct adv_tx_packet *pkt)
{
	return put_record(w, lead, pkt);
}

bool adv_ring_must_wake(struct adv_ring_writer *w, adv_bell_name *bell)
{
	/* Pairs with adv_ring_sleep(): either the reader sees the packet, or the writer sees that
	 * the reader sleeps. */
	atomic_thread_fence(memory_order_seq_cst);
	if (atomic_load_explicit(&w->memory->sleeping, memory_order_relaxed) == 0 ||
	    atomic_exchange_explicit(&w->memory->sleeping, 0, memory_order_relaxed) == 0)
		return false;
	/* Pairs with adv_ring_reader_init(): either the writer sees the bell, or the attaching
	 * reader sees the packet, and that it counts as awake. */
	atomic_thread_fence(memory_order_seq_cst);
	*bell = atomic_load_explicit(&w->memory->bell, memory_order_relaxed);
	return true;
}

/* ---- reading -------------------------------------------------------------------------- */

void adv_ring_reader_init(struct adv_ring_reader *r, void *memory, uint32_t size,
			  adv_bell_name bell, adv_ring_check_fn *check, void *user)
{
	*r = (struct adv_ring_reader){.memory = memory, .size = size, .check = check, .user = user};
	adv_copy_choice_init(&r->choice);
	atomic_store_explicit(&r->memory->bell, bell, memory_order_relaxed);
	atomic_thread_fence(memory_order_seq_cst);
}

static uint32_t next_word(const struct adv_ring_reader *r)
{
	return atomic_load_explicit(word_at(r->memory, (uint32_t)(r->tail & (r->size - 1))),
				    memory_order_acquire);
}

bool adv_ring_has(const struct adv_ring_reader *r)
{
	return !r->broken && next_word(r) != 0;
}

void adv_ring_sleep(struct adv_ring_reader *r, bool sleeping)
{
	if (atomic_load_explicit(&r->memory->sleeping, memory_order_relaxed) == sleeping)
		return;
	atomic_store_explicit(&r->memory->sleeping, sleeping, memory_order_relaxed);
	atomic_thread_fence(memory_order_seq_cst);
}

/* Copies the headers, so that the writer cannot change them any more. */
static void copy_headers(uint8_t headers[ADV_HEADERS_MAX], const uint8_t *p, uint32_t len,
			 bool first_in_line)
{
	if (len >= ADV_HEADERS_MAX)
		memcpy(headers, p, ADV_HEADERS_MAX);
	else if (first_in_line) /* the rest of the line: a constant length needs no call */
		memcpy(headers, p, LINE - WORD_LEN);
	else
		memcpy(headers, p, len);
}

/* ---- long packets ---- */

/* Shows to the writer which long packets it may write. */
static void show_longs(struct adv_ring_reader *r)
{
	enum adv_ring_longs longs = ADV_RING_COPIES;

	if (!r->accepts_long)
		longs = ADV_RING_NO_LONGS;
	else if (r->peer && adv_copy_choice_now(&r->choice) == ADV_COPY_PULL)
		longs = ADV_RING_PULLS;
	atomic_store_explicit(&r->memory->longs, longs, memory_order_relaxed);
}

void adv_ring_accept(struct adv_ring_reader *r, bool longs)
{
	r->accepts_long = longs;
	show_longs(r);
}

void adv_ring_set_peer(struct adv_ring_reader *r, const struct adv_pull_peer *peer)
{
	r->peer = peer;
	show_longs(r);
}

/* Passes a packet with `bytes` of payload to fn, and measures the copy if the choice wants that. */
static void pass_long(struct adv_ring_reader *r, const struct adv_rx_packet *pkt, uint32_t bytes,
		      enum adv_copy_way way, adv_link_rx_fn *fn, void *user)
{
	uint64_t start;

	adv_copy_choice_count(&r->choice, way, bytes);
	if (bytes < ADV_COPY_SAMPLE_MIN || !adv_copy_choice_wants(&r->choice, way)) {
		fn(user, pkt);
		return;
	}
	start = adv_clock_ns();
	fn(user, pkt);
	if (adv_copy_choice_timed(&r->choice, bytes, adv_clock_ns() - start))
		show_longs(r);
}

/* The payload of the record that is being read, in the writer's memory. */
struct away_source {
	struct adv_rx_source source;
	struct adv_ring_reader *reader;
	_Atomic uint32_t *word;
	uint32_t seen; /* value of *word */
	unsigned pieces;
	struct adv_pull_piece piece[PIECES_MAX];
};

/* pull() of the source. If the memory cannot be read, the writer uses the ring for later payload.
 */
static bool pull_payload(struct adv_rx_source *source, const struct iovec *to, unsigned count)
{
	struct away_source *s = adv_container_of(source, struct away_source, source);
	struct adv_ring_reader *r = s->reader;

	if (atomic_exchange_explicit(s->word, s->seen | TAKEN, memory_order_acq_rel) & RECALLED)
		return false;
	if (r->peer && adv_pull_read(r->peer, s->piece, s->pieces, to, count))
		return true;
	adv_ring_set_peer(r, NULL);
	return false;
}

/* Copies a record with AWAY and checks it. Fills in s->source, s->piece, pkt->data and pkt->len.
 * False: not valid. */
static bool read_away(struct away_source *s, const uint8_t *p, uint32_t len,
		      struct adv_rx_packet *pkt, uint8_t headers[ADV_HEADERS_MAX])
{
	struct away_record r = {.pieces = 0};
	uint64_t total = 0;

	if (len < away_len(1) || len > sizeof(r))
		return false;
	memcpy(&r, p, len);
	if (len != away_len(r.pieces) || r.header_len < ADV_BTH_LEN ||
	    r.header_len > ADV_HEADERS_MAX || r.pad > 3)
		return false;
	for (unsigned i = 0; i < r.pieces; i++) {
		s->piece[i] = r.piece[i];
		if (r.piece[i].length > ADV_LONG_MAX)
			return false;
		total += r.piece[i].length;
	}
	s->pieces = r.pieces;
	s->source = (struct adv_rx_source){pull_payload, (uint32_t)total};
	memcpy(headers, r.header, ADV_HEADERS_MAX);
	pkt->len = r.header_len + (uint32_t)total + r.pad;
	pkt->source = &s->source;
	return total && total <= ADV_LONG_MAX && pkt->len % 4 == 0;
}

/* Passes a record with AWAY to fn. p: behind the properties. False: not valid. */
static bool take_away(struct adv_ring_reader *r, uint32_t word, const uint8_t *p,
		      struct adv_rx_packet *pkt, uint8_t headers[ADV_HEADERS_MAX],
		      adv_link_rx_fn *fn, void *user)
{
	struct away_source s = {
		.reader = r,
		.word = word_at(r->memory, (uint32_t)(r->tail & (r->size - 1))),
		.seen = word & ~(TAKEN | RECALLED | DONE),
	};

	if (!read_away(&s, p, word & LEN_MASK, pkt, headers))
		return false;
	if (!(word & BAD_ICRC))
		pass_long(r, pkt, s.source.length, ADV_COPY_PULL, fn, user);
	atomic_store_explicit(s.word, s.seen | TAKEN | DONE, memory_order_release);
	return true;
}

/* Counts a packet of these many bytes up to the padding. */
static void count_packet(struct adv_link_counters *counters, uint32_t word,
			 const struct adv_rx_packet *pkt)
{
	counters->rx_packets += 1 + pkt->more;
	counters->rx_bytes += pkt->len + ADV_ICRC_LEN + pkt->more * ADV_LINK_MORE_BYTES;
	if (word & BAD_ICRC)
		counters->rx_icrc_errors++;
}

/* Passes the packet that precedes the record's other packet to fn. */
static void take_lead(struct adv_ring_reader *r, const uint8_t *p, adv_link_rx_fn *fn, void *user,
		      struct adv_link_counters *counters)
{
	_Alignas(8) uint8_t headers[ADV_RING_LEAD_LEN];
	struct adv_rx_packet pkt = {.meta = &r->meta, .data = headers, .len = ADV_RING_LEAD_LEN};

	memcpy(headers, p, ADV_RING_LEAD_LEN);
	count_packet(counters, 0, &pkt);
	fn(user, &pkt);
}

/* Passes the record of this word to fn. Returns its length, or 0 if it is not valid. */
static uint32_t take_record(struct adv_ring_reader *r, uint32_t word, adv_link_rx_fn *fn,
			    void *user, struct adv_link_counters *counters)
{
	uint32_t offset = (uint32_t)(r->tail & (r->size - 1));
	const uint8_t *p = r->memory->bytes + offset + WORD_LEN;
	uint32_t len = word & LEN_MASK;
	uint32_t meta_len = word & WITH_META ? (uint32_t)sizeof(r->meta) : 0;
	uint32_t lead_len = word & LED ? ADV_RING_LEAD_LEN : 0;
	uint32_t need = record_len(meta_len + lead_len + len);
	_Alignas(8) uint8_t headers[ADV_HEADERS_MAX];
	struct adv_rx_packet pkt = {
		.meta = &r->meta,
		.data = headers,
		.len = len,
		.more = word >> MORE_SHIFT & (ADV_LONG_PACKETS - 1),
	};

	if (len < ADV_BTH_LEN || len > PACKET_MAX || len % 4 != 0 || need > r->size - offset ||
	    ((word & LED) && (word & (AWAY | BAD_ICRC))))
		return 0;
	if (meta_len) {
		memcpy(&r->meta, p, sizeof(r->meta));
		if (!r->check(r->user, &r->meta))
			return 0;
		p += meta_len;
	}
	if (lead_len) {
		take_lead(r, p, fn, user, counters);
		p += lead_len;
	}
	if (word & AWAY) {
		if (!take_away(r, word, p, &pkt, headers, fn, user))
			return 0;
		count_packet(counters, word, &pkt);
		return need;
	}
	count_packet(counters, word, &pkt);
	if (word & BAD_ICRC)
		return need;
	/* A short record is often followed by another: an ACK, then the peer's answer. */
	if (need == LINE)
		__builtin_prefetch(
			word_at(r->memory, (uint32_t)((r->tail + need) & (r->size - 1))));
	if (len > sizeof(headers))
		pkt.body = p;
	copy_headers(headers, p, len, meta_len + lead_len == 0);
	if (pkt.more && r->peer)
		pass_long(r, &pkt, len, ADV_COPY_RING, fn, user);
	else
		fn(user, &pkt);
	return need;
}

/* Returns the bytes that this word skips. 0: invalid, because it follows another such word, or
 * leads past the end of the memory. */
static uint32_t skipped_bytes(struct adv_ring_reader *r, uint32_t word)
{
	uint32_t offset = (uint32_t)(r->tail & (r->size - 1));
	uint32_t lines = word & SKIP_MASK;

	if (r->skipped || lines > (r->size - offset) / LINE)
		return 0;
	r->skipped = true;
	return lines * LINE;
}

/* Updates the shared tail, but rarely: each transfer of its cache line delays both sides. */
static void show_tail(struct adv_ring_reader *r)
{
	if (r->tail - r->shown < r->size / SHOWN_PARTS)
		return;
	r->shown = r->tail;
	atomic_store_explicit(&r->memory->tail, r->tail, memory_order_release);
}

unsigned adv_ring_get(struct adv_ring_reader *r, unsigned budget, adv_link_rx_fn *fn, void *user,
		      struct adv_link_counters *counters)
{
	unsigned packets = 0;
	uint32_t word;

	if (r->broken)
		return 0;
	while (packets < budget && (word = next_word(r)) != 0) {
		uint32_t taken;

		if (word & SKIP) {
			taken = skipped_bytes(r, word);
		} else {
			r->skipped = false;
			taken = take_record(r, word, fn, user, counters);
			packets += word & LED ? 2 : 1;
		}
		if (taken == 0) {
			r->broken = true;
			counters->rx_malformed++;
			break;
		}
		r->tail += taken;
	}
	show_tail(r);
	return packets;
}
