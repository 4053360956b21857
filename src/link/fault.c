/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "link/fault.h"

#include <stdlib.h>

#define KEPT_MAX   16384      /* a direction; more are lost, as in a queue that is full */
#define FULL_RETRY 1000000ull /* ns: the inner link is asked again whether it has room */

/* A copy of a packet that goes on later. */
struct kept {
	struct adv_fault_held held;
	struct adv_path path;	 /* on the way out */
	struct adv_rx_meta meta; /* on the way in */
	struct iovec iov;
	enum adv_ecn ecn;
	uint32_t dest_qpn;
	uint32_t icrc_flip;
	uint32_t len;
	uint8_t data[];
};

struct fault_link {
	struct adv_link link;
	struct adv_link *inner;
	uint64_t (*clock)(void);
	uint64_t now;	  /* of the call that runs */
	uint64_t checked; /* when the owner last had a look at the device: the newest receive() */
	bool full;	  /* the inner link is */
	uint64_t icrc_errors;
	uint64_t tx_dropped;
	adv_fault_ask_fn *ask; /* NULL: the plan decides */
	void *ask_user;
	struct adv_fault_state state;
	struct adv_fault_queue tx;
	struct adv_fault_queue rx;
	/* The batch that is being made for the inner link, and the copies it refers to. */
	struct adv_tx_batch out;
	struct kept *out_kept[ADV_TX_BATCH_PACKETS];
	unsigned out_kept_count;
	/* Of the receive() that runs: */
	adv_link_rx_fn *fn;
	void *user;
};

static struct fault_link *fault_of(struct adv_link *link)
{
	return adv_container_of(link, struct fault_link, link);
}

static struct kept *kept_of(struct adv_fault_held *h)
{
	return adv_container_of(h, struct kept, held);
}

/* What others read in struct adv_link. */
static void show(struct fault_link *f)
{
	uint64_t tx = adv_fault_queue_due(&f->tx), rx = adv_fault_queue_due(&f->rx);
	uint64_t device = adv_fault_device_due(&f->state, f->checked);

	f->link.counters = f->inner->counters;
	f->link.counters.rx_icrc_errors += f->icrc_errors;
	f->link.counters.tx_dropped += f->tx_dropped;
	f->link.send_fd = f->inner->send_fd;
	f->link.receive_fd = f->inner->receive_fd;
	f->link.bell_fd = f->inner->bell_fd;
	f->link.rx_window = f->inner->rx_window;
	if (f->full)
		tx = f->now + FULL_RETRY;
	f->link.deadline = tx < rx ? tx : rx;
	if (device < f->link.deadline)
		f->link.deadline = device;
	if (f->link.deadline == UINT64_MAX)
		f->link.deadline = 0;
}

static bool decide(struct fault_link *f, const struct adv_fault_packet *p,
		   const struct adv_tx_packet *out, const struct adv_rx_packet *in,
		   struct adv_fault_verdict *v)
{
	return f->ask ? f->ask(f->ask_user, f->now, p, out, in, v)
		      : adv_fault_decide(&f->state, f->now, p, v);
}

static uint64_t behind_or_time(const struct adv_fault_verdict *v)
{
	return v->delay + (v->behind ? v->hold : 0);
}

/* A copy with room for what the verdict may put on; NULL: there is no memory, or too many wait. */
static struct kept *copy_of(struct fault_link *f, const struct adv_fault_queue *q,
			    const struct adv_fault_verdict *v, uint32_t len)
{
	size_t room = len + (v->length > 0 ? (size_t)v->length : 0);
	struct kept *k = q->count < KEPT_MAX ? calloc(1, sizeof(*k) + room) : NULL;

	if (k)
		k->len = len;
	else
		f->state.counters.lost++;
	return k;
}

/* ---- out ---- */

static uint32_t packet_len(const struct adv_tx_packet *pkt)
{
	return (uint32_t)pkt->header_len + pkt->payload_len + pkt->pad;
}

/* Header, payload and padding, one behind the other. */
static void flatten(const struct adv_tx_packet *pkt, uint8_t *out)
{
	uint32_t left = pkt->payload_len;

	memcpy(out, pkt->header, pkt->header_len);
	out += pkt->header_len;
	for (unsigned i = 0; i < pkt->iov_count && left; i++) {
		uint32_t n =
			(uint32_t)pkt->iov[i].iov_len < left ? (uint32_t)pkt->iov[i].iov_len : left;

		memcpy(out, pkt->iov[i].iov_base, n);
		out += n;
		left -= n;
	}
	memset(out, 0, left + pkt->pad);
}

static void keep_tx(struct fault_link *f, const struct adv_tx_packet *pkt,
		    const struct adv_fault_verdict *v, unsigned copy)
{
	struct kept *k = copy_of(f, &f->tx, v, packet_len(pkt));

	if (!k) {
		f->tx_dropped++;
		return;
	}
	flatten(pkt, k->data);
	k->path = *pkt->path;
	k->ecn = v->mark ? ADV_ECN_CE : pkt->ecn;
	k->dest_qpn = pkt->dest_qpn;
	if (v->corrupt) {
		k->len = adv_fault_alter(v, k->data, k->len,
					 k->len + (v->length > 0 ? (uint32_t)v->length : 0));
		k->icrc_flip = v->icrc_right ? 0 : (uint32_t)v->dice | 1;
	}
	k->held.due = f->now + behind_or_time(v) + copy * v->after;
	k->held.behind = copy ? 0 : v->behind;
	adv_fault_queue_put(&f->tx, &k->held);
}

/* Hands the batch that was made to the inner link. */
static void emit(struct fault_link *f)
{
	if (f->out.count)
		f->full = !f->inner->ops->send(f->inner, &f->out);
	f->out.count = 0;
	for (unsigned i = 0; i < f->out_kept_count; i++)
		free(f->out_kept[i]);
	f->out_kept_count = 0;
}

static void append_kept(struct fault_link *f, struct kept *k)
{
	struct adv_tx_packet *pkt = &f->out.packet[f->out.count++];
	uint32_t header = k->len < ADV_HEADERS_MAX ? k->len : ADV_HEADERS_MAX;

	memcpy(pkt->header, k->data, header);
	k->iov = (struct iovec){k->data + header, k->len - header};
	pkt->path = &k->path;
	pkt->iov = &k->iov;
	pkt->iov_count = k->len > header;
	pkt->header_len = (uint8_t)header;
	pkt->pad = 0;
	pkt->payload_len = k->len - header;
	pkt->dest_qpn = k->dest_qpn;
	pkt->ecn = k->ecn;
	pkt->icrc_flip = k->icrc_flip;
	f->out_kept[f->out_kept_count++] = k;
}

/* What is due goes into the batch, as long as the inner link has room. */
static void release_tx(struct fault_link *f)
{
	struct adv_fault_held *h;

	while (!f->full && (h = adv_fault_queue_take(&f->tx, f->now))) {
		append_kept(f, kept_of(h));
		if (f->out.count == ADV_TX_BATCH_PACKETS)
			emit(f);
	}
}

/* A packet that nothing, or only a mark, happens to. */
static void pass_tx(struct fault_link *f, const struct adv_tx_packet *pkt, bool mark)
{
	const struct adv_fault_verdict v = {.mark = mark};
	struct adv_tx_packet *to = &f->out.packet[f->out.count];

	if (f->full) {
		keep_tx(f, pkt, &v, 0);
		return;
	}
	*to = *pkt;
	if (mark)
		to->ecn = ADV_ECN_CE;
	if (++f->out.count == ADV_TX_BATCH_PACKETS)
		emit(f);
}

static void take_tx(struct fault_link *f, const struct adv_tx_packet *pkt)
{
	struct adv_fault_verdict v;
	struct adv_fault_packet p;

	adv_fault_packet_read(&p, true, &pkt->path->dgid, pkt->ecn, pkt->header, pkt->header_len);
	if (!decide(f, &p, pkt, NULL, &v) ||
	    (!v.drop && !v.corrupt && !v.copies && !v.delay && !v.behind))
		pass_tx(f, pkt, v.mark);
	else if (v.drop)
		return;
	else
		for (unsigned i = 0; i <= v.copies; i++)
			keep_tx(f, pkt, &v, i);
	if (!v.behind)
		adv_fault_queue_passed(&f->tx, f->now);
}

static bool fault_send(struct adv_link *link, struct adv_tx_batch *batch)
{
	struct fault_link *f = fault_of(link);

	f->now = f->clock();
	release_tx(f);
	for (unsigned i = 0; i < batch->count; i++) {
		take_tx(f, &batch->packet[i]);
		release_tx(f);
	}
	emit(f);
	show(f);
	return !f->full;
}

static void flush_inner(struct fault_link *f)
{
	if (f->full)
		f->full = !f->inner->ops->flush(f->inner);
	release_tx(f);
	emit(f);
}

static bool fault_flush(struct adv_link *link)
{
	struct fault_link *f = fault_of(link);

	f->now = f->clock();
	flush_inner(f);
	show(f);
	return !f->full;
}

/* ---- in ---- */

static unsigned release_rx(struct fault_link *f)
{
	struct adv_fault_held *h;
	unsigned n = 0;

	while ((h = adv_fault_queue_take(&f->rx, f->now))) {
		struct kept *k = kept_of(h);
		struct adv_rx_packet pkt = {.meta = &k->meta, .data = k->data, .len = k->len};

		f->fn(f->user, &pkt);
		free(k);
		n++;
	}
	return n;
}

static void keep_rx(struct fault_link *f, const struct adv_rx_packet *pkt,
		    const struct adv_fault_verdict *v, unsigned copy)
{
	struct kept *k = copy_of(f, &f->rx, v, pkt->len);

	if (!k)
		return;
	memcpy(k->data, adv_rx_payload(pkt, 0), pkt->len);
	k->meta = *pkt->meta;
	if (v->mark)
		k->meta.tclass |= ADV_ECN_CE;
	if (v->corrupt)
		k->len = adv_fault_alter(v, k->data, k->len,
					 k->len + (v->length > 0 ? (uint32_t)v->length : 0));
	k->held.due = f->now + behind_or_time(v) + copy * v->after;
	k->held.behind = copy ? 0 : v->behind;
	adv_fault_queue_put(&f->rx, &k->held);
}

static void take_rx(void *user, const struct adv_rx_packet *pkt)
{
	struct fault_link *f = user;
	struct adv_fault_verdict v;
	struct adv_fault_packet p;

	adv_fault_packet_read(&p, false, &pkt->meta->sgid, pkt->meta->tclass & ADV_ECN_MASK,
			      pkt->data, pkt->len);
	if (!decide(f, &p, NULL, pkt, &v))
		f->fn(f->user, pkt);
	else if (v.drop)
		return;
	else if (v.corrupt && !v.icrc_right)
		f->icrc_errors++;
	else
		for (unsigned i = 0; i <= v.copies; i++)
			keep_rx(f, pkt, &v, i);
	if (!v.behind)
		adv_fault_queue_passed(&f->rx, f->now);
	release_rx(f);
	f->inner->enough = f->link.enough;
}

static unsigned fault_receive(struct adv_link *link, unsigned budget, adv_link_rx_fn *fn,
			      void *user)
{
	struct fault_link *f = fault_of(link);
	unsigned packets;

	f->now = f->checked = f->clock();
	f->fn = fn;
	f->user = user;
	packets = release_rx(f);
	f->inner->busy_polled = link->busy_polled;
	f->inner->enough = link->enough;
	packets += f->inner->ops->receive(f->inner, budget, take_rx, f);
	if (f->tx.count || f->full)
		flush_inner(f);
	show(f);
	return packets;
}

static bool fault_sleep(struct adv_link *link, bool sleeping)
{
	struct adv_link *inner = fault_of(link)->inner;

	return !inner->ops->sleep || inner->ops->sleep(inner, sleeping);
}

/* ---- making and ending ---- */

static void drop_all(struct adv_fault_queue *q)
{
	struct adv_fault_held *h;

	while ((h = adv_fault_queue_take(q, UINT64_MAX)))
		free(kept_of(h));
}

static void fault_destroy(struct adv_link *link)
{
	struct fault_link *f = fault_of(link);

	/* What has left the engine is on its way, whether the program still lives or not. */
	adv_fault_send_kept(link);
	drop_all(&f->tx);
	drop_all(&f->rx);
	f->inner->ops->destroy(f->inner);
	free(f);
}

static const struct adv_link_ops fault_ops = {
	.send = fault_send,
	.flush = fault_flush,
	.receive = fault_receive,
	.sleep = fault_sleep,
	.destroy = fault_destroy,
};

static struct adv_link *create(struct adv_link *inner, uint64_t (*clock)(void),
			       const struct adv_fault_plan *plan, adv_fault_ask_fn *ask, void *user)
{
	struct fault_link *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	f->link.ops = &fault_ops;
	f->link.busy_polled = inner->busy_polled;
	f->inner = inner;
	/* From now on the owner sets and clears that of the wrapper. */
	inner->enough = false;
	f->clock = clock;
	f->now = f->checked = clock();
	f->full = !inner->ops->flush(inner);
	f->ask = ask;
	f->ask_user = user;
	adv_fault_queue_init(&f->tx);
	adv_fault_queue_init(&f->rx);
	adv_fault_begin(&f->state, plan, f->now);
	show(f);
	return &f->link;
}

struct adv_link *adv_fault_create(struct adv_link *inner, uint64_t (*clock)(void),
				  const struct adv_fault_plan *plan)
{
	return create(inner, clock, plan, NULL, NULL);
}

struct adv_link *adv_fault_create_asking(struct adv_link *inner, uint64_t (*clock)(void),
					 adv_fault_ask_fn *fn, void *user)
{
	const struct adv_fault_plan none = {.has_seed = true};

	return create(inner, clock, &none, fn, user);
}

struct adv_link *adv_fault_end(struct adv_link *link, adv_link_rx_fn *fn, void *user)
{
	struct fault_link *f = fault_of(link);
	struct adv_link *inner = f->inner;

	f->now = UINT64_MAX;
	f->fn = fn;
	f->user = user;
	flush_inner(f);
	release_rx(f);
	inner->counters.tx_dropped += f->tx_dropped + f->tx.count;
	drop_all(&f->tx);
	inner->counters.rx_icrc_errors += f->icrc_errors;
	inner->enough = false;
	free(f);
	return inner;
}

void adv_fault_send_kept(struct adv_link *link)
{
	struct fault_link *f = fault_of(link);

	f->now = UINT64_MAX;
	flush_inner(f);
	f->now = f->clock();
	show(f);
}

void adv_fault_set_plan(struct adv_link *link, const struct adv_fault_plan *plan)
{
	struct fault_link *f = fault_of(link);

	f->checked = f->clock();
	adv_fault_begin(&f->state, plan, f->checked);
	show(f);
}

bool adv_fault_has_blinked(struct adv_link *link, uint64_t now)
{
	return adv_fault_port_blinked(&fault_of(link)->state, now);
}

void adv_fault_tell_events(struct adv_link *link, uint64_t now, adv_fault_tell_fn *tell, void *user)
{
	struct fault_link *f = fault_of(link);

	f->checked = now;
	adv_fault_events(&f->state, now, tell, user);
	show(f);
}

const struct adv_fault_state *adv_fault_state_of(const struct adv_link *link)
{
	return &fault_of((struct adv_link *)(uintptr_t)link)->state;
}

uint32_t adv_fault_of_work(struct adv_link *link, const struct adv_fault_work *work)
{
	struct fault_link *f = fault_of(link);

	return adv_fault_decide_work(&f->state, f->clock(), work);
}
