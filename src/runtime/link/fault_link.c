/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "runtime/link/fault_link.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "nic/fault/environment.h"
#include "nic/fault/queue.h"

#define KEPT_MAX   16384 /* packets kept for each direction; more are lost, as in a full queue */
#define FULL_RETRY 1000000ull /* ns after which a full inner link is tried again */

/* A copy of a packet that continues later. */
struct kept {
	struct adv_fault_held held;
	struct adv_path path;	 /* path of an outgoing packet */
	struct adv_rx_meta meta; /* properties of an incoming packet */
	struct iovec iov;
	enum adv_ecn ecn;
	uint32_t dest_qpn;
	uint32_t icrc_flip;
	uint32_t len;
	uint8_t data[];
};

struct adv_fault_link {
	struct adv_link link;
	struct adv_link *inner;
	uint64_t (*clock)(void);
	uint64_t now;	  /* time of the current call */
	uint64_t checked; /* time of the last receive(), after which the owner examined port and
			     device */
	bool full;	  /* the inner link is full */
	uint64_t icrc_errors;
	uint64_t tx_dropped;
	adv_fault_link_decide_fn *decide; /* NULL: the plan decides */
	void *decide_user;
	struct adv_fault_state state;
	struct adv_fault_queue tx;
	struct adv_fault_queue rx;
	/* The batch for the inner link, and the copies to which the batch refers. */
	struct adv_tx_batch out;
	struct kept *out_kept[ADV_TX_BATCH_PACKETS];
	unsigned out_kept_count;
	/* The caller of the current receive(): */
	adv_link_rx_fn *fn;
	void *user;
};

static struct adv_fault_link *fault_of(struct adv_link *link)
{
	return adv_container_of(link, struct adv_fault_link, link);
}

static struct kept *kept_of(struct adv_fault_held *h)
{
	return adv_container_of(h, struct kept, held);
}

/* Updates the public members of the link. */
static void publish_link(struct adv_fault_link *f)
{
	uint64_t tx = adv_fault_queue_due(&f->tx), rx = adv_fault_queue_due(&f->rx);
	uint64_t device = adv_fault_device_due(&f->state, f->checked);

	f->link.counters = adv_link_count(f->inner);
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

static bool decide_packet(struct adv_fault_link *f, const struct adv_fault_packet *p,
			  const struct adv_tx_packet *out, const struct adv_rx_packet *in,
			  struct adv_fault_verdict *v)
{
	return f->decide ? f->decide(f->decide_user, f->now, p, out, in, v)
			 : adv_fault_decide(&f->state, f->now, p, v);
}

static uint64_t longest_delay(const struct adv_fault_verdict *v)
{
	return v->delay + (v->behind ? v->hold : 0);
}

/* Allocates a copy with room for the bytes that the verdict may append. NULL: no memory, or the
 * queue keeps KEPT_MAX packets. */
static struct kept *allocate_kept(struct adv_fault_link *f, const struct adv_fault_queue *q,
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

/* ---- outgoing packets ---- */

static uint32_t packet_len(const struct adv_tx_packet *pkt)
{
	return (uint32_t)pkt->header_len + pkt->payload_len + pkt->pad;
}

/* Writes header, payload and padding into one buffer. */
static void flatten_packet(const struct adv_tx_packet *pkt, uint8_t *out)
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

static void keep_tx(struct adv_fault_link *f, const struct adv_tx_packet *pkt,
		    const struct adv_fault_verdict *v, unsigned copy)
{
	struct kept *k = allocate_kept(f, &f->tx, v, packet_len(pkt));

	if (!k) {
		f->tx_dropped++;
		return;
	}
	flatten_packet(pkt, k->data);
	k->path = *pkt->path;
	k->ecn = v->mark ? ADV_ECN_CE : pkt->ecn;
	k->dest_qpn = pkt->dest_qpn;
	if (v->corrupt) {
		k->len = adv_fault_alter(v, k->data, k->len,
					 k->len + (v->length > 0 ? (uint32_t)v->length : 0));
		k->icrc_flip = v->icrc_right ? 0 : (uint32_t)v->dice | 1;
	}
	k->held.due = f->now + longest_delay(v) + copy * v->after;
	k->held.behind = copy ? 0 : v->behind;
	adv_fault_queue_put(&f->tx, &k->held);
}

/* Sends the batch through the inner link. */
static void send_batch(struct adv_fault_link *f)
{
	if (f->out.count)
		f->full = !f->inner->ops->send(f->inner, &f->out);
	f->out.count = 0;
	for (unsigned i = 0; i < f->out_kept_count; i++)
		free(f->out_kept[i]);
	f->out_kept_count = 0;
}

static void append_kept(struct adv_fault_link *f, struct kept *k)
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
	pkt->more = 0;
	pkt->payload_len = k->len - header;
	pkt->dest_qpn = k->dest_qpn;
	pkt->ecn = k->ecn;
	pkt->icrc_flip = k->icrc_flip;
	f->out_kept[f->out_kept_count++] = k;
}

/* Moves due packets into the batch, as long as the inner link has room. */
static void release_tx(struct adv_fault_link *f)
{
	struct adv_fault_held *h;

	while (!f->full && (h = adv_fault_queue_take(&f->tx, f->now))) {
		append_kept(f, kept_of(h));
		if (f->out.count == ADV_TX_BATCH_PACKETS)
			send_batch(f);
	}
}

/* Sends a packet unchanged, except for the ECN mark. */
static void pass_tx(struct adv_fault_link *f, const struct adv_tx_packet *pkt, bool mark)
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
		send_batch(f);
}

static void handle_tx(struct adv_fault_link *f, const struct adv_tx_packet *pkt)
{
	struct adv_fault_verdict v;
	struct adv_fault_packet p;

	adv_fault_packet_read(&p, true, &pkt->path->dgid, pkt->ecn, pkt->header, pkt->header_len);
	if (!decide_packet(f, &p, pkt, NULL, &v) ||
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
	struct adv_fault_link *f = fault_of(link);

	f->now = f->clock();
	release_tx(f);
	for (unsigned i = 0; i < batch->count; i++) {
		handle_tx(f, &batch->packet[i]);
		release_tx(f);
	}
	send_batch(f);
	publish_link(f);
	return !f->full;
}

static void flush_inner(struct adv_fault_link *f)
{
	if (f->full)
		f->full = !f->inner->ops->flush(f->inner);
	release_tx(f);
	send_batch(f);
}

static bool fault_flush(struct adv_link *link)
{
	struct adv_fault_link *f = fault_of(link);

	f->now = f->clock();
	flush_inner(f);
	publish_link(f);
	return !f->full;
}

/* ---- incoming packets ---- */

static unsigned release_rx(struct adv_fault_link *f)
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

static void keep_rx(struct adv_fault_link *f, const struct adv_rx_packet *pkt,
		    const struct adv_fault_verdict *v, unsigned copy)
{
	struct kept *k = allocate_kept(f, &f->rx, v, pkt->len);

	if (!k)
		return;
	memcpy(k->data, adv_rx_payload(pkt, 0), pkt->len);
	k->meta = *pkt->meta;
	if (v->mark)
		k->meta.tclass |= ADV_ECN_CE;
	if (v->corrupt)
		k->len = adv_fault_alter(v, k->data, k->len,
					 k->len + (v->length > 0 ? (uint32_t)v->length : 0));
	k->held.due = f->now + longest_delay(v) + copy * v->after;
	k->held.behind = copy ? 0 : v->behind;
	adv_fault_queue_put(&f->rx, &k->held);
}

static void handle_rx(void *user, const struct adv_rx_packet *pkt)
{
	struct adv_fault_link *f = user;
	struct adv_fault_verdict v;
	struct adv_fault_packet p;

	adv_fault_packet_read(&p, false, &pkt->meta->sgid, pkt->meta->tclass & ADV_ECN_MASK,
			      pkt->data, pkt->len);
	if (!decide_packet(f, &p, NULL, pkt, &v))
		f->fn(f->user, pkt);
	else if (v.drop)
		return;
	else if (v.corrupt && !v.icrc_right)
		f->icrc_errors++;
	else if (pkt->more) /* was on its way when the plan came into force */
		f->fn(f->user, pkt);
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
	struct adv_fault_link *f = fault_of(link);
	unsigned packets;

	f->now = f->checked = f->clock();
	f->fn = fn;
	f->user = user;
	packets = release_rx(f);
	f->inner->busy_polled = link->busy_polled;
	f->inner->enough = link->enough;
	packets += f->inner->ops->receive(f->inner, budget, handle_rx, f);
	if (f->tx.count || f->full)
		flush_inner(f);
	publish_link(f);
	return packets;
}

static bool fault_sleep(struct adv_link *link, bool sleeping)
{
	struct adv_link *inner = fault_of(link)->inner;

	return !inner->ops->sleep || inner->ops->sleep(inner, sleeping);
}

static void fault_way(struct adv_link *link, const struct adv_tx_packet *pkt,
		      struct adv_link_way *way)
{
	adv_link_find_way(fault_of(link)->inner, pkt, way);
}

/* ---- creation and destruction ---- */

static void drop_all(struct adv_fault_queue *q)
{
	struct adv_fault_held *h;

	while ((h = adv_fault_queue_take(q, UINT64_MAX)))
		free(kept_of(h));
}

static void fault_destroy(struct adv_link *link)
{
	struct adv_fault_link *f = fault_of(link);

	/* Packets that the engine has sent count as in flight, even if the program exits. */
	adv_fault_link_send_kept(link);
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
	.way = fault_way,
	.destroy = fault_destroy,
};

static struct adv_link *create_wrapper(struct adv_link *inner, uint64_t (*clock)(void),
				       const struct adv_fault_plan *plan,
				       adv_fault_link_decide_fn *decide, void *user)
{
	struct adv_fault_link *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	f->link.ops = &fault_ops;
	f->link.busy_polled = inner->busy_polled;
	f->inner = inner;
	/* From now on the owner uses the wrapper's flag. */
	inner->enough = false;
	/* A plan decides about each packet. */
	if (inner->ops->accept_long)
		inner->ops->accept_long(inner, false);
	f->clock = clock;
	f->now = f->checked = clock();
	f->full = !inner->ops->flush(inner);
	f->decide = decide;
	f->decide_user = user;
	adv_fault_queue_init(&f->tx);
	adv_fault_queue_init(&f->rx);
	adv_fault_begin(&f->state, plan, f->now);
	publish_link(f);
	return &f->link;
}

struct adv_link *adv_fault_link_create(struct adv_link *inner, uint64_t (*clock)(void),
				       const struct adv_fault_plan *plan)
{
	return create_wrapper(inner, clock, plan, NULL, NULL);
}

struct adv_link *adv_fault_link_create_with(struct adv_link *inner, uint64_t (*clock)(void),
					    adv_fault_link_decide_fn *fn, void *user)
{
	const struct adv_fault_plan none = {.has_seed = true};

	return create_wrapper(inner, clock, &none, fn, user);
}

struct adv_link *adv_fault_link_from_environment(struct adv_link *inner, uint64_t (*clock)(void),
						 char *why, size_t why_len)
{
	struct adv_fault_plan plan;
	struct adv_link *link;
	char shown[512];
	int err = adv_fault_environment_read(&plan, why, why_len);

	if (err == ENOENT)
		return inner;
	errno = err;
	if (err)
		return NULL;
	link = adv_fault_link_create(inner, clock, &plan);
	if (!link) {
		snprintf(why, why_len, "no memory for the fault plan");
		errno = ENOMEM;
		return NULL;
	}
	adv_fault_plan_print(&plan, shown, sizeof(shown));
	adv_info("fault plan: %s", shown);
	return link;
}

struct adv_link *adv_fault_link_unwrap(struct adv_link *link, adv_link_rx_fn *fn, void *user)
{
	struct adv_fault_link *f = fault_of(link);
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
	if (inner->ops->accept_long)
		inner->ops->accept_long(inner, true);
	free(f);
	return inner;
}

void adv_fault_link_set_inner(struct adv_link *link, struct adv_link *inner)
{
	struct adv_fault_link *f = fault_of(link);

	f->inner = inner;
	publish_link(f);
}

void adv_fault_link_send_kept(struct adv_link *link)
{
	struct adv_fault_link *f = fault_of(link);

	f->now = UINT64_MAX;
	flush_inner(f);
	f->now = f->clock();
	publish_link(f);
}

void adv_fault_link_set_plan(struct adv_link *link, const struct adv_fault_plan *plan)
{
	struct adv_fault_link *f = fault_of(link);

	f->checked = f->clock();
	adv_fault_begin(&f->state, plan, f->checked);
	publish_link(f);
}

bool adv_fault_link_port_blinked(struct adv_link *link, uint64_t now)
{
	return adv_fault_port_blinked(&fault_of(link)->state, now);
}

void adv_fault_link_raise_events(struct adv_link *link, uint64_t now, adv_fault_raise_fn *raise,
				 void *user)
{
	struct adv_fault_link *f = fault_of(link);

	f->checked = now;
	adv_fault_raise_events(&f->state, now, raise, user);
	publish_link(f);
}

const struct adv_fault_state *adv_fault_link_state(const struct adv_link *link)
{
	return &fault_of((struct adv_link *)(uintptr_t)link)->state;
}

uint32_t adv_fault_link_decide_work(struct adv_link *link, const struct adv_fault_work *work)
{
	struct adv_fault_link *f = fault_of(link);

	return adv_fault_decide_work(&f->state, f->clock(), work);
}

enum adv_fault_flow_verdict adv_fault_link_decide_flow(struct adv_link *link,
						       struct adv_fault_flow *flow, uint64_t now,
						       const struct adv_fault_packet *p, bool crc)
{
	return adv_fault_flow_decide(flow, &fault_of(link)->state, now, p, crc);
}
