/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "runtime/ucma/qp1.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "runtime/exchange/capture_exchange.h"
#include "runtime/identity/raw_table.h"
#include "runtime/link/bell.h"
#include "runtime/link/port.h"
#include "runtime/link/udp.h"
#include "nic/wire/frame.h"
#include "nic/wire/mad.h"
#include "nic/wire/slot.h"

/* Mask that limits QP1 to 16 source ports. Each source port needs a socket. QP1 has little traffic,
 * so 16 are enough. */
#define PORT_CHOICE 0xfu
#define WARN_NS	    1000000000u

struct adv_qp1 {
	int socket;
	int error_epoll;
	struct adv_link *udp;
	struct adv_link *port;	/* on an emulated host: wraps `udp`; or NULL */
	struct adv_link *raw;	/* wraps `udp` for RoCE v1; or NULL */
	struct adv_link *fault; /* fault link, or NULL */
	struct adv_tap tap[ADV_CAPTURE_PLACES];
	struct adv_link *link; /* the outermost of these links */
	_Atomic uint16_t *sender;
	struct adv_gid_table gids;
	uint32_t psn;
	bool full;
	struct adv_qp1_counters counters;
	uint64_t warn_at;  /* earliest time of the next warning */
	adv_qp1_rx_fn *fn; /* callback of the current or last adv_qp1_receive() */
	void *user;
	uint64_t refused;	       /* packets of that adv_qp1_receive() that were not for QP1 */
	adv_fault_link_decide_fn *ask; /* NULL: the link is not wrapped */
	void *ask_user;
	struct adv_cm_mad mad[ADV_QP1_BATCH];
	struct adv_tx_batch batch;
};

/* Makes a new link for the addresses in *gids. A change of addresses needs a new link, because the
 * old link's sending sockets are bound to the old addresses. */
static struct adv_link *make_link(const struct adv_qp1 *q, const struct adv_gid_table *gids)
{
	struct adv_udp_address address[ADV_GID_TABLE_ENTRIES];
	struct adv_udp_config config = {.qpn_first = adv_qpn_of_slot(ADV_SLOT_DAEMON),
					.qpn_count = ADV_SLOT_QPNS,
					.errors = true,
					.error_epoll = q->error_epoll,
					.sender = true};
	struct adv_link *link;
	int err;

	config.receive_fd = fcntl(q->socket, F_DUPFD_CLOEXEC, 0);
	if (config.receive_fd < 0)
		return NULL;
	link = adv_udp_create(&config);
	if (!link)
		return NULL;
	for (uint32_t i = 0; i < gids->count; i++)
		address[i] = (struct adv_udp_address){gids->entry[i].gid, gids->entry[i].ifindex};
	err = adv_udp_set_addresses(link, address, gids->count);
	if (err) {
		link->ops->destroy(link);
		errno = err;
		return NULL;
	}
	return link;
}

/* Returns the link between the faults and the network. */
static struct adv_link *wire_of(struct adv_qp1 *q)
{
	struct adv_link *outer = q->port ? q->port : q->raw;

	return adv_tap_wrap(&q->tap[ADV_CAPTURE_WIRE], outer ? outer : q->udp);
}

/* Sets q->link after a change of the other links. */
static void stack_links(struct adv_qp1 *q)
{
	struct adv_link *top = wire_of(q);

	if (q->fault) {
		adv_fault_link_set_inner(q->fault, top);
		top = q->fault;
	}
	q->link = adv_tap_wrap(&q->tap[ADV_CAPTURE_ENGINE], top);
}

static void release_qp1(struct adv_qp1 *q)
{
	if (q->link)
		q->link->ops->destroy(q->link);
	if (q->error_epoll >= 0)
		close(q->error_epoll);
	free(q);
}

/* On an emulated host, connects to the fabric. False with errno. */
static bool start_port(struct adv_qp1 *q)
{
	q->port = adv_port_create(q->udp, adv_qpn_prefix(adv_qpn_of_slot(ADV_SLOT_DAEMON)), 1);
	if (!q->port)
		return errno == ECONNREFUSED;
	q->link = q->port;
	return true;
}

struct adv_qp1 *adv_qp1_create(int socket, _Atomic uint16_t *sender)
{
	struct adv_qp1 *q = calloc(1, sizeof(*q));

	if (!q)
		return NULL;
	q->socket = socket;
	q->sender = sender;
	q->error_epoll = epoll_create1(EPOLL_CLOEXEC);
	for (unsigned i = 0; i < ADV_CAPTURE_PLACES; i++)
		adv_tap_init(&q->tap[i]);
	q->link = q->udp = q->error_epoll >= 0 ? make_link(q, &q->gids) : NULL;
	if (q->udp && !start_port(q)) {
		int saved = errno;

		release_qp1(q);
		errno = saved;
		return NULL;
	}
	if (!q->link || getrandom(&q->psn, sizeof(q->psn), 0) < 0) {
		int saved = errno;

		release_qp1(q);
		errno = saved;
		return NULL;
	}
	atomic_store(sender, adv_udp_sender(q->udp));
	return q;
}

void adv_qp1_destroy(struct adv_qp1 *q)
{
	release_qp1(q);
}

int adv_qp1_start_v1(struct adv_qp1 *q)
{
	if (q->raw || q->port) /* a port of an emulated fabric carries both versions */
		return 0;
	q->raw = adv_raw_create(q->udp, adv_qpn_of_slot(ADV_SLOT_DAEMON), ADV_GSI_QPN + 1);
	if (!q->raw)
		return errno;
	adv_raw_table_set(q->raw, &q->gids);
	stack_links(q);
	return 0;
}

int adv_qp1_v1_fd(const struct adv_qp1 *q)
{
	/* Not the packet socket itself: it is also the descriptor to wait for room, and an epoll
	 * set takes a descriptor once only. */
	return q->raw ? q->raw->receive_fd : -1;
}

bool adv_qp1_needs_mac(const struct adv_qp1 *q, const struct adv_path *path)
{
	return q->raw && path->v1;
}

int adv_qp1_set_gids(struct adv_qp1 *q, const struct adv_gid_table *gids)
{
	struct adv_link *link = make_link(q, gids), *old = q->udp;

	if (!link)
		return errno;
	atomic_store(q->sender, adv_udp_sender(link));
	q->udp = link;
	if (q->port)
		adv_port_set_inner(q->port, link);
	if (q->raw)
		adv_raw_set_inner(q->raw, link);
	stack_links(q);
	old->ops->destroy(old);
	q->full = false;
	memcpy(&q->gids, gids, sizeof(q->gids));
	if (q->raw)
		adv_raw_table_set(q->raw, &q->gids);
	return 0;
}

/* ---- captures ---- */

/* Ends the captures whose tools have ended. */
static void look_at_captures(struct adv_qp1 *q)
{
	bool ended = false;

	for (unsigned i = 0; i < ADV_CAPTURE_PLACES; i++) {
		int fd;

		while ((fd = adv_tap_ended(&q->tap[i])) >= 0) {
			adv_tap_detach(&q->tap[i], fd);
			ended = true;
		}
	}
	if (ended)
		stack_links(q);
}

bool adv_qp1_capture(struct adv_qp1 *q, int fd)
{
	bool begun;

	look_at_captures(q);
	begun = adv_capture_answer(fd, q->tap, ADV_SLOT_DAEMON, ADV_TAP_SIZE_MIN);
	stack_links(q);
	return begun;
}

static bool is_ours(const struct adv_qp1 *q, const struct adv_gid *gid)
{
	for (uint32_t i = 0; i < q->gids.count; i++)
		if (adv_gid_equal(&q->gids.entry[i].gid, gid))
			return true;
	return false;
}

/* Returns the entry of the port's table that matches the packet's P_Key (IBTA 10.9.8: QP1 accepts
 * each of them); 0: none does. */
static uint16_t own_pkey(const struct adv_qp1 *q, uint16_t pkey)
{
	int index = adv_pkey_match_index(&q->gids.pkeys, pkey);

	return index < 0 ? 0 : q->gids.pkeys.pkey[index];
}

/* Counts a P_Key of no partition of this port, and logs it at most once a second: the sender learns
 * nothing. */
static void note_violation(struct adv_qp1 *q, const struct adv_rx_meta *meta, uint16_t pkey)
{
	uint64_t now = adv_clock_ns();
	char from[ADV_GID_TEXT_LENGTH];

	q->counters.bad_pkey++;
	if (now < q->warn_at)
		return;
	q->warn_at = now + WARN_NS;
	adv_warn("dropped a management datagram of %s: its P_Key 0x%04x matches none of this port "
		 "(IBTA 10.9)",
		 adv_gid_text(&meta->sgid, from), pkey);
}

/* True if the source port is acceptable. A packet of this machine must come from QP1's own port,
 * because no other process may send for QP1. */
static bool sender_fits(const struct adv_qp1 *q, const struct adv_rx_meta *meta)
{
	bool loopback = adv_gid_is_ipv4(&meta->sgid) && meta->sgid.raw[12] == 127;

	return (!loopback && !is_ours(q, &meta->sgid)) || meta->sport == atomic_load(q->sender);
}

static void receive_one(void *user, const struct adv_rx_packet *pkt)
{
	struct adv_qp1 *q = user;
	struct adv_headers h;
	size_t n = adv_headers_decode(pkt->data, pkt->len, &h);
	struct adv_rx_meta meta = *pkt->meta;
	uint8_t mad[ADV_MAD_LEN];

	q->refused++;
	if (!n || h.bth.opcode != (ADV_SERVICE_UD | ADV_OP_SEND_ONLY) ||
	    h.bth.dest_qpn != ADV_GSI_QPN || h.deth.qkey != ADV_GSI_QKEY || h.bth.pad ||
	    pkt->len - n != ADV_MAD_LEN || !is_ours(q, &pkt->meta->dgid) ||
	    adv_gid_is_multicast(&pkt->meta->sgid) || !sender_fits(q, pkt->meta))
		return;
	meta.pkey = own_pkey(q, h.bth.pkey);
	if (!meta.pkey) {
		note_violation(q, &meta, h.bth.pkey);
		return;
	}
	q->refused--;
	q->counters.rx++;
	/* The packet may be in memory that another process can write. */
	memcpy(mad, adv_rx_payload(pkt, n), sizeof(mad));
	q->fn(q->user, &meta, mad);
}

unsigned adv_qp1_receive(struct adv_qp1 *q, unsigned budget, adv_qp1_rx_fn *fn, void *user)
{
	uint64_t before = q->counters.rx;
	unsigned taken;

	look_at_captures(q);
	q->fn = fn;
	q->user = user;
	q->refused = 0;
	taken = q->link->ops->receive(q->link, budget, receive_one, q);
	/* QP1 is always asleep between two calls. If packets are left, it wakes itself. */
	if (q->port && !q->port->ops->sleep(q->port, true))
		adv_bell_ring(q->port->bell_fd, adv_bell_name_of(q->port->bell_fd));
	/* With faults, `taken` includes delayed packets and packets dropped on purpose, which must
	 * not count. */
	q->counters.dropped += q->ask ? q->refused : taken - (q->counters.rx - before);
	return taken;
}

int adv_qp1_bell_fd(const struct adv_qp1 *q)
{
	return q->port ? q->port->bell_fd : -1;
}

void adv_qp1_still(struct adv_qp1 *q)
{
	adv_bell_still(q->port->bell_fd);
}

int adv_qp1_set_faults(struct adv_qp1 *q, adv_fault_link_decide_fn *fn, void *user)
{
	bool changes = !fn != !q->ask;

	if (fn && !q->ask) {
		q->fault = adv_fault_link_create_with(wire_of(q), adv_clock_ns, fn, user);
		if (!q->fault)
			return ENOMEM;
	} else if (changes) {
		(void)adv_fault_link_unwrap(q->fault, receive_one, q);
		q->fault = NULL;
	}
	q->ask = fn;
	q->ask_user = user;
	if (changes) {
		stack_links(q);
		q->full = !q->link->ops->flush(q->link);
	}
	return 0;
}

/* ---- ICMP ---- */

struct error_call {
	adv_qp1_error_fn *fn;
	void *user;
	const struct adv_qp1 *qp1;
};

static void take_error(void *user, const struct adv_gid *sgid, const struct adv_gid *dgid,
		       const uint8_t *quote, size_t len)
{
	const struct error_call *call = user;
	struct adv_headers h;
	size_t n = adv_headers_decode(quote, len, &h);

	if (n && h.bth.opcode == (ADV_SERVICE_UD | ADV_OP_SEND_ONLY) &&
	    own_pkey(call->qp1, h.bth.pkey) && h.bth.dest_qpn == ADV_GSI_QPN &&
	    h.deth.src_qpn == ADV_GSI_QPN && h.deth.qkey == ADV_GSI_QKEY)
		call->fn(call->user, sgid, dgid, quote + n, len - n);
}

int adv_qp1_error_fd(const struct adv_qp1 *q)
{
	return q->error_epoll;
}

void adv_qp1_errors(struct adv_qp1 *q, unsigned budget, adv_qp1_error_fn *fn, void *user)
{
	struct error_call call = {fn, user, q};

	(void)adv_udp_read_errors(q->udp, budget, take_error, &call);
}

/* ---- sending ---- */

uint64_t adv_qp1_deadline(const struct adv_qp1 *q)
{
	return q->link->deadline ? q->link->deadline : UINT64_MAX;
}

bool adv_qp1_has_room(const struct adv_qp1 *q)
{
	return !q->full;
}

static void fill_packet(struct adv_qp1 *q, unsigned i)
{
	struct adv_headers h = {
		.bth = {.opcode = (ADV_SERVICE_UD | ADV_OP_SEND_ONLY),
			.pkey = q->mad[i].pkey,
			.dest_qpn = q->mad[i].dest_qpn,
			.psn = q->psn},
		.deth = {.qkey = ADV_GSI_QKEY, .src_qpn = ADV_GSI_QPN},
	};
	struct adv_tx_packet *p = &q->batch.packet[i];
	uint16_t port = adv_frame_sport(q->mad[i].path.flow_label, ADV_GSI_QPN, q->mad[i].dest_qpn);

	q->psn = adv_psn_add(q->psn, 1);
	q->mad[i].path.sport = (uint16_t)(0xc000 | (port & PORT_CHOICE));
	q->mad[i].path.link_hint = 0;
	q->mad[i].path.link_memo = 0;
	q->batch.iov[i] = (struct iovec){q->mad[i].data, ADV_MAD_LEN};
	*p = (struct adv_tx_packet){
		.path = &q->mad[i].path,
		.iov = &q->batch.iov[i],
		.iov_count = 1,
		.payload_len = ADV_MAD_LEN,
		.dest_qpn = q->mad[i].dest_qpn,
		.ecn = ADV_ECN_NOT_ECT,
	};
	p->header_len = (uint8_t)adv_headers_encode(&h, p->header);
}

void adv_qp1_send(struct adv_qp1 *q, const struct adv_cm_mad *mads, unsigned count)
{
	assert(!q->full && count <= ADV_QP1_BATCH);
	if (!count)
		return;
	memcpy(q->mad, mads, count * sizeof(*mads));
	for (unsigned i = 0; i < count; i++)
		fill_packet(q, i);
	q->batch.count = q->batch.iov_used = count;
	q->counters.tx += count;
	q->full = !q->link->ops->send(q->link, &q->batch);
}

int adv_qp1_send_fd(const struct adv_qp1 *q)
{
	return q->link->send_fd;
}

bool adv_qp1_flush(struct adv_qp1 *q)
{
	q->full = !q->link->ops->flush(q->link);
	return !q->full;
}

const struct adv_qp1_counters *adv_qp1_counters(const struct adv_qp1 *q)
{
	return &q->counters;
}
