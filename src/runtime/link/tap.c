/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "runtime/link/tap.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "base/clock.h"
#include "base/list.h"
#include "base/sys.h"
#include "runtime/link/ring.h"

static struct adv_tap *tap_of(struct adv_link *link)
{
	return adv_container_of(link, struct adv_tap, link);
}

/* Updates the public members of the link. */
static void publish_link(struct adv_tap *t)
{
	t->link.send_fd = t->inner->send_fd;
	t->link.receive_fd = t->inner->receive_fd;
	t->link.bell_fd = t->inner->bell_fd;
	t->link.rx_window = t->inner->rx_window;
	t->link.deadline = t->inner->deadline;
}

void adv_tap_record(struct adv_tap *t, const struct adv_tap_packet *p)
{
	for (unsigned i = 0; i < t->count; i++)
		adv_tap_put(&t->capture[i].writer, p);
}

/* ---- outgoing packets ---- */

static void record_tx(struct adv_tap *t, const struct adv_tx_packet *pkt, uint64_t now)
{
	const struct adv_path *path = pkt->path;
	enum adv_ecn ecn = pkt->ecn;
	struct adv_link_way way;
	struct adv_tap_packet p = {
		.header = pkt->header,
		.iov = pkt->iov,
		.iov_count = pkt->iov_count,
		/* The link itself does not read payload that is away. */
		.unsure = pkt->more && pkt->payload_len >= ADV_RING_AWAY_MIN,
	};

	adv_link_find_way(t->inner, pkt, &way);
	if (way.v1) /* v1 has no marks */
		ecn = ADV_ECN_NOT_ECT;
	p.record = (struct adv_tap_record){
		.payload_len = pkt->payload_len,
		.time = now,
		.sgid = path->sgid,
		.dgid = path->dgid,
		.flow_label = path->flow_label,
		.icrc_flip = pkt->icrc_flip,
		.sport = way.sport,
		.header_len = pkt->header_len,
		.more = (uint8_t)pkt->more,
		.tclass = (uint8_t)((path->tclass & ~ADV_ECN_MASK) | (int)ecn),
		.hop_limit = path->hop_limit,
		.pad = pkt->pad,
		.flags = (uint8_t)(ADV_TAP_OUT | (way.memory ? ADV_TAP_MEMORY : 0) |
				   (way.v1 ? ADV_TAP_V1 : 0)),
	};
	adv_tap_record(t, &p);
}

static bool tap_send(struct adv_link *link, struct adv_tx_batch *batch)
{
	struct adv_tap *t = tap_of(link);
	uint64_t now = adv_clock_day_ns();
	bool room;

	for (unsigned i = 0; i < batch->count; i++)
		record_tx(t, &batch->packet[i], now);
	room = t->inner->ops->send(t->inner, batch);
	publish_link(t);
	return room;
}

static bool tap_flush(struct adv_link *link)
{
	struct adv_tap *t = tap_of(link);
	bool room = t->inner->ops->flush(t->inner);

	publish_link(t);
	return room;
}

/* ---- incoming packets ---- */

/* Stands for the source of a packet whose payload is away: the payload is recorded when the owner
 * has read it. */
struct tapped_source {
	struct adv_rx_source source;
	struct adv_rx_source *inner;
	struct adv_tap *tap;
	struct adv_tap_packet packet;
	bool recorded;
};

static bool pull_tapped(struct adv_rx_source *source, const struct iovec *to, unsigned count)
{
	struct tapped_source *s = adv_container_of(source, struct tapped_source, source);

	if (count > ADV_TAP_IOV || !s->inner->pull(s->inner, to, count))
		return false;
	s->packet.iov = to;
	s->packet.iov_count = count;
	s->packet.unsure = true;
	s->packet.record.flags &= (uint8_t)~ADV_TAP_UNREAD;
	adv_tap_record(s->tap, &s->packet);
	s->recorded = true;
	return true;
}

/* Returns the bytes of headers of a packet with `len` bytes. All of an unknown packet is header. */
static uint8_t header_len_of(const uint8_t *data, uint32_t len)
{
	uint32_t known = len ? adv_opcode_table[data[0]].length : 0;

	if (known && known <= len)
		return (uint8_t)known;
	return (uint8_t)(len < ADV_BTH_LEN ? len : ADV_BTH_LEN);
}

static void fill_rx(struct adv_tap_packet *p, const struct adv_rx_packet *pkt)
{
	const struct adv_rx_meta *meta = pkt->meta;

	*p = (struct adv_tap_packet){.header = pkt->data};
	p->record = (struct adv_tap_record){
		.time = adv_clock_day_ns(),
		.sgid = meta->sgid,
		.dgid = meta->dgid,
		.sport = meta->sport,
		.header_len = header_len_of(pkt->data, pkt->len),
		.more = (uint8_t)(pkt->more < ADV_LONG_PACKETS ? pkt->more : 0),
		.tclass = meta->tclass,
		.hop_limit = meta->hop_limit,
		.flow_label = meta->flow_label,
		.flags = adv_rx_is_v1(meta) ? ADV_TAP_V1
			 : meta->slot	    ? ADV_TAP_MEMORY
					    : 0,
	};
	p->record.payload_len = pkt->len - p->record.header_len;
}

/* Passes a packet whose payload is away to the owner, then records it. */
static void take_away(struct adv_tap *t, struct adv_tap_packet *p, const struct adv_rx_packet *pkt)
{
	struct adv_rx_packet shown = *pkt;
	struct tapped_source s = {
		.source = {pull_tapped, pkt->source->length},
		.inner = pkt->source,
		.tap = t,
	};

	p->record.payload_len = pkt->source->length;
	p->record.flags |= ADV_TAP_UNREAD;
	s.packet = *p;
	shown.source = &s.source;
	t->fn(t->user, &shown);
	if (!s.recorded)
		adv_tap_record(t, &s.packet);
}

static void handle_rx(void *user, const struct adv_rx_packet *pkt)
{
	struct adv_tap *t = user;
	struct adv_tap_packet p;
	struct iovec payload;

	fill_rx(&p, pkt);
	if (p.record.more) {
		/* The BTH says how much padding is behind the payload; the link has checked
		 * neither. */
		uint8_t pad = pkt->data[1] >> ADV_BTH_PAD_SHIFT & ADV_BTH_PAD_MASK;

		p.record.pad = pad <= p.record.payload_len ? pad : 0;
		p.record.payload_len -= p.record.pad;
	}
	if (pkt->source) {
		take_away(t, &p, pkt);
	} else {
		payload = (struct iovec){(void *)adv_rx_payload(pkt, p.record.header_len),
					 p.record.payload_len};
		p.iov = &payload;
		p.iov_count = 1;
		adv_tap_record(t, &p);
		t->fn(t->user, pkt);
	}
	t->inner->enough = t->link.enough;
}

static unsigned tap_receive(struct adv_link *link, unsigned budget, adv_link_rx_fn *fn, void *user)
{
	struct adv_tap *t = tap_of(link);
	unsigned packets;

	t->fn = fn;
	t->user = user;
	t->inner->busy_polled = link->busy_polled;
	t->inner->spaced = link->spaced;
	t->inner->enough = link->enough;
	packets = t->inner->ops->receive(t->inner, budget, handle_rx, t);
	publish_link(t);
	return packets;
}

/* ---- calls that only pass ---- */

static bool tap_sleep(struct adv_link *link, bool sleeping)
{
	struct adv_link *inner = tap_of(link)->inner;

	return !inner->ops->sleep || inner->ops->sleep(inner, sleeping);
}

static uint32_t tap_long_payload(struct adv_link *link, const struct adv_path *path,
				 uint32_t dest_qpn, uint32_t length)
{
	struct adv_link *inner = tap_of(link)->inner;

	return inner->ops->long_payload ? inner->ops->long_payload(inner, path, dest_qpn, length)
					: 0;
}

static void tap_recall(struct adv_link *link, const struct adv_path *path, const void *addr,
		       uint64_t length)
{
	struct adv_link *inner = tap_of(link)->inner;

	if (inner->ops->recall)
		inner->ops->recall(inner, path, addr, length);
}

static void tap_accept_long(struct adv_link *link, bool accepts)
{
	struct adv_link *inner = tap_of(link)->inner;

	if (inner->ops->accept_long)
		inner->ops->accept_long(inner, accepts);
}

static void tap_way(struct adv_link *link, const struct adv_tx_packet *pkt,
		    struct adv_link_way *way)
{
	adv_link_find_way(tap_of(link)->inner, pkt, way);
}

static void tap_destroy(struct adv_link *link)
{
	struct adv_tap *t = tap_of(link);

	while (t->count)
		adv_tap_detach(t, t->capture[0].life);
	t->inner->ops->destroy(t->inner);
}

static const struct adv_link_ops tap_ops = {
	.send = tap_send,
	.flush = tap_flush,
	.receive = tap_receive,
	.sleep = tap_sleep,
	.long_payload = tap_long_payload,
	.recall = tap_recall,
	.accept_long = tap_accept_long,
	.way = tap_way,
	.destroy = tap_destroy,
};

/* ---- captures ---- */

void adv_tap_init(struct adv_tap *t)
{
	memset(t, 0, sizeof(*t));
	t->link.ops = &tap_ops;
}

struct adv_link *adv_tap_wrap(struct adv_tap *t, struct adv_link *inner)
{
	if (!t->count)
		return inner;
	t->inner = inner;
	t->link.inner = inner;
	t->link.busy_polled = inner->busy_polled;
	/* From now on the owner uses the wrapper's flag. */
	inner->enough = false;
	publish_link(t);
	return &t->link;
}

/* Makes the memory of a ring. Returns its mapping, or NULL with errno. */
static struct adv_tap_memory *make_memory(uint32_t size, int *fd)
{
	const size_t len = adv_tap_memory_len(size);
	void *p = MAP_FAILED;
	int error;

	*fd = (int)syscall(SYS_memfd_create, "adverb-capture", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (*fd < 0)
		return NULL;
	/* The size is sealed: otherwise the reader could remove memory that this process writes. */
	if (syscall(SYS_ftruncate, *fd, len) == 0 &&
	    adv_sys_fcntl(*fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0)
		p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, *fd, 0);
	if (p != MAP_FAILED)
		return p;
	error = errno;
	adv_sys_close(*fd);
	*fd = -1;
	errno = error;
	return NULL;
}

int adv_tap_attach(struct adv_tap *t, uint32_t size, uint32_t limit, int life, int *memory_fd)
{
	struct adv_tap_memory *memory;

	*memory_fd = -1;
	if (!adv_tap_size_fits(size))
		return EINVAL;
	if (t->count == ADV_TAP_CAPTURES)
		return EBUSY;
	memory = make_memory(size, memory_fd);
	if (!memory)
		return errno;
	adv_tap_writer_init(&t->capture[t->count].writer, memory, size, limit);
	t->capture[t->count++].life = life;
	return 0;
}

int adv_tap_ended(const struct adv_tap *t)
{
	for (unsigned i = 0; i < t->count; i++) {
		struct pollfd p = {.fd = t->capture[i].life, .events = POLLRDHUP};

		if (adv_sys_poll(&p, 1, 0) > 0)
			return p.fd;
	}
	return -1;
}

void adv_tap_detach(struct adv_tap *t, int life)
{
	for (unsigned i = 0; i < t->count; i++) {
		struct adv_tap_writer *w = &t->capture[i].writer;

		if (t->capture[i].life != life)
			continue;
		munmap(w->memory, adv_tap_memory_len(w->size));
		t->capture[i] = t->capture[--t->count];
		adv_sys_close(life); /* now no child of fork() closes it, see adv_tap_abandon() */
		return;
	}
}

void adv_tap_abandon(const struct adv_tap *t)
{
	for (unsigned i = 0; i < t->count; i++)
		adv_sys_close(t->capture[i].life);
}
