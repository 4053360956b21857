/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "runtime/link/tap_ring.h"

#include <string.h>

#include "base/sys.h"

#define ALIGN	 8u
#define WRAP	 UINT32_MAX /* in place of a record's length: the next record is at the start */
#define SMALLEST 256u	    /* path MTUs */
#define LARGEST	 4096u

uint32_t adv_tap_long_mtu(uint32_t payload_len, uint32_t packets)
{
	for (uint32_t mtu = SMALLEST; mtu <= LARGEST; mtu *= 2)
		if ((payload_len + mtu - 1) / mtu == packets)
			return mtu;
	return 0;
}

uint32_t adv_tap_kept(const struct adv_tap_record *r)
{
	uint32_t mtu = r->payload_len, whole, last;

	if (r->flags & ADV_TAP_UNREAD)
		return 0;
	if (!r->more)
		return r->piece < r->payload_len ? r->piece : r->payload_len;
	if (r->payload_len <= ADV_LONG_MAX)
		mtu = adv_tap_long_mtu(r->payload_len, r->more + 1u);
	if (!mtu || r->payload_len > ADV_LONG_MAX)
		return 0;
	whole = r->piece < mtu ? r->piece : mtu;
	last = r->payload_len - r->more * mtu;
	return r->more * whole + (r->piece < last ? r->piece : last);
}

/* ---- writing ---- */

void adv_tap_writer_init(struct adv_tap_writer *w, struct adv_tap_memory *memory, uint32_t size,
			 uint32_t limit)
{
	*w = (struct adv_tap_writer){.memory = memory, .size = size, .limit = limit};
}

/* True if the ring has room for `need` bytes. */
static bool has_room(struct adv_tap_writer *w, uint32_t need)
{
	uint64_t tail;

	if (w->size - (w->head - w->tail) >= need)
		return true;
	tail = atomic_load_explicit(&w->memory->tail, memory_order_acquire);
	if (tail < w->tail || tail > w->head)
		return false;
	w->tail = tail;
	return w->size - (w->head - w->tail) >= need;
}

/* Returns the place of a record of `need` bytes, which does not wrap around. NULL: no room. */
static uint8_t *find_place(struct adv_tap_writer *w, uint32_t need)
{
	const uint32_t wrap = WRAP;
	uint32_t offset = (uint32_t)(w->head & (w->size - 1));
	uint32_t rest = w->size - offset;

	if (need <= rest)
		return has_room(w, need) ? w->memory->bytes + offset : NULL;
	if (!has_room(w, rest + need))
		return NULL;
	memcpy(w->memory->bytes + offset, &wrap, sizeof(wrap));
	w->head += rest;
	return w->memory->bytes;
}

/* The ranges of memory that a record keeps. */
struct ranges {
	unsigned count;
	struct iovec iov[ADV_LONG_PACKETS + ADV_TAP_IOV];
};

/* Appends the bytes [from, from + n) of the payload. */
static void add_range(struct ranges *r, const struct adv_tap_packet *p, size_t from, size_t n)
{
	for (unsigned i = 0; i < p->iov_count && n; i++) {
		size_t len = p->iov[i].iov_len, part;

		if (from >= len) {
			from -= len;
			continue;
		}
		part = len - from < n ? len - from : n;
		r->iov[r->count++] = (struct iovec){(uint8_t *)p->iov[i].iov_base + from, part};
		from = 0;
		n -= part;
	}
}

static void list_ranges(struct ranges *r, const struct adv_tap_packet *p,
			const struct adv_tap_record *record)
{
	uint32_t len = record->payload_len, mtu = len;

	r->count = 0;
	if (record->more)
		mtu = adv_tap_long_mtu(len, record->more + 1u);
	if (record->piece >= mtu) {
		add_range(r, p, 0, len);
		return;
	}
	for (uint32_t at = 0; at < len; at += mtu)
		add_range(r, p, at, len - at < record->piece ? len - at : record->piece);
}

/* Copies the bytes of payload that the record keeps. False: memory of the payload is not mapped any
 * more. */
static bool copy_payload(uint8_t *to, const struct adv_tap_packet *p,
			 const struct adv_tap_record *record)
{
	struct iovec local = {to, record->kept};
	struct ranges r;

	list_ranges(&r, p, record);
	if (p->unsure)
		return syscall(SYS_process_vm_readv, (long)getpid(), &local, 1L, r.iov,
			       (long)r.count, 0L) == (long)record->kept;
	for (unsigned i = 0; i < r.count; i++) {
		memcpy(to, r.iov[i].iov_base, r.iov[i].iov_len);
		to += r.iov[i].iov_len;
	}
	return true;
}

static uint32_t length_of(const struct adv_tap_record *r)
{
	return (uint32_t)(sizeof(*r) + r->header_len + r->kept + ALIGN - 1) & ~(ALIGN - 1);
}

static void drop_record(struct adv_tap_writer *w, const struct adv_tap_record *r)
{
	uint64_t dropped = atomic_load_explicit(&w->memory->dropped, memory_order_relaxed);

	w->lost += 1u + r->more;
	atomic_store_explicit(&w->memory->dropped, dropped + 1 + r->more, memory_order_relaxed);
}

/* A received packet may claim a length that its number of packets cannot have. The receiver will
 * drop it. Here it counts as one packet. */
static void correct_more(struct adv_tap_record *r)
{
	if (r->more && (r->more >= ADV_LONG_PACKETS || r->payload_len > ADV_LONG_MAX ||
			!adv_tap_long_mtu(r->payload_len, r->more + 1u)))
		r->more = 0;
}

void adv_tap_put(struct adv_tap_writer *w, const struct adv_tap_packet *p)
{
	struct adv_tap_memory *m = w->memory;
	struct adv_tap_record r = p->record;
	uint8_t *at = NULL;

	if (atomic_load_explicit(&m->stop, memory_order_relaxed))
		return;
	correct_more(&r);
	r.piece = w->limit > r.header_len ? w->limit - r.header_len : 0;
	r.kept = adv_tap_kept(&r);
	r.lost = w->lost;
	r.length = length_of(&r);
	if (r.more || r.payload_len <= UINT16_MAX)
		at = find_place(w, r.length);
	if (!at) {
		drop_record(w, &r);
		return;
	}
	if (r.kept && !copy_payload(at + sizeof(r) + r.header_len, p, &r)) {
		r.flags |= ADV_TAP_UNREAD;
		r.kept = 0;
		r.length = length_of(&r);
	}
	memcpy(at + sizeof(r), p->header, r.header_len);
	memcpy(at, &r, sizeof(r));
	w->head += r.length;
	w->lost = 0;
	atomic_store_explicit(&m->packets,
			      atomic_load_explicit(&m->packets, memory_order_relaxed) + 1 + r.more,
			      memory_order_relaxed);
	atomic_store_explicit(&m->head, w->head, memory_order_release);
}

/* ---- reading ---- */

void adv_tap_reader_init(struct adv_tap_reader *r, struct adv_tap_memory *memory, uint32_t size)
{
	*r = (struct adv_tap_reader){.memory = memory, .size = size};
}

/* Returns the bytes from the tail that the writer has written. Breaks the ring if that is not
 * possible. */
static uint64_t bytes_waiting(struct adv_tap_reader *r)
{
	uint64_t head = atomic_load_explicit(&r->memory->head, memory_order_acquire);

	if (head % ALIGN || head - r->tail > r->size)
		r->broken = true;
	return r->broken ? 0 : head - r->tail;
}

static void free_room(struct adv_tap_reader *r, uint32_t length)
{
	r->tail += length;
	atomic_store_explicit(&r->memory->tail, r->tail, memory_order_release);
}

static bool is_valid(const struct adv_tap_record *record, uint64_t most)
{
	if (record->flags & ADV_TAP_STREAM &&
	    (record->header_len != sizeof(struct adv_tap_stream) || record->more || record->pad))
		return false;
	return record->length <= most && record->header_len <= ADV_HEADERS_MAX &&
	       record->more < ADV_LONG_PACKETS && record->pad <= 3 &&
	       record->payload_len <= (record->more ? ADV_LONG_MAX : UINT16_MAX) &&
	       record->kept == adv_tap_kept(record) && record->length == length_of(record) &&
	       (!record->more || adv_tap_long_mtu(record->payload_len, record->more + 1u) != 0);
}

bool adv_tap_peek(struct adv_tap_reader *r, struct adv_tap_record *record)
{
	uint64_t waiting = bytes_waiting(r);
	uint32_t offset = (uint32_t)(r->tail & (r->size - 1));
	uint32_t rest = r->size - offset, first;

	if (waiting == 0)
		return false;
	memcpy(&first, r->memory->bytes + offset, sizeof(first));
	if (first == WRAP && offset && rest <= waiting) {
		free_room(r, rest);
		waiting -= rest;
		offset = 0;
		rest = r->size;
		if (waiting == 0)
			return false;
	}
	if (waiting < sizeof(*record) || rest < sizeof(*record)) {
		r->broken = true;
		return false;
	}
	memcpy(record, r->memory->bytes + offset, sizeof(*record));
	r->broken = !is_valid(record, waiting < rest ? waiting : rest);
	return !r->broken;
}

void adv_tap_take(struct adv_tap_reader *r, const struct adv_tap_record *record, uint8_t *data)
{
	uint32_t offset = (uint32_t)(r->tail & (r->size - 1));

	memcpy(data, r->memory->bytes + offset + sizeof(*record),
	       (size_t)record->header_len + record->kept);
	free_room(r, record->length);
}
