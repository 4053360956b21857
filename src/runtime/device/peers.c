/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Memory that the device shares with other processes of this machine, for the packets between them.
 * A process requests the memory from adverbd when it has a QP that is connected to the other
 * process. The memory exists when both processes have requested it.
 *
 * One request at a time is posted: for the memory of one peer, or the query of all pairs. After its
 * answer, the next one is posted. The answer to a query may consist of several messages; all of
 * them show one state, as no other request is pending meanwhile.
 */
#include "runtime/device/lock.h"

#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/sys.h"
#include "runtime/link/shm.h"

#define NO_SHM_VARIABLE "ADVERB_NO_SHM" /* if set and not empty, all packets go by UDP */
/* If set and not empty, no process reads the memory of another. */
#define NO_ONE_COPY_VARIABLE "ADVERB_NO_ONE_COPY"
#define ANSWER_WAIT	     200000000ull /* ns */

static bool has_bit(const uint8_t *bits, unsigned i)
{
	return bits[i / 8] >> i % 8 & 1;
}

static void set_bit(uint8_t *bits, unsigned i)
{
	bits[i / 8] |= (uint8_t)(1u << i % 8);
}

static void clear_bit(uint8_t *bits, unsigned i)
{
	bits[i / 8] &= (uint8_t) ~(1u << i % 8);
}

/* Returns the slot by which adverbd identifies this device, regardless of the device's blocks. */
static unsigned own_slot(const struct adv_device *d)
{
	return d->slot.number;
}

static bool is_set(const char *variable)
{
	const char *value = getenv(variable);

	return value && *value;
}

/* Long packets, for adv_engine_set_long(). `link` has no such call while a fault plan is in force.
 */
static uint32_t long_payload(void *user, const struct adv_path *path, uint32_t dest_qpn,
			     uint32_t length)
{
	const struct adv_device *d = user;

	return d->link->ops->long_payload
		       ? d->link->ops->long_payload(d->link, path, dest_qpn, length)
		       : 0;
}

static void recall_payload(void *user, const struct adv_path *path, const void *addr,
			   uint64_t length)
{
	const struct adv_device *d = user;

	d->shm->ops->recall(d->shm, path, addr, length);
}

void adv_device_peers_engine(struct adv_device *d)
{
	if (d->shm)
		adv_engine_set_long(d->engine, long_payload, recall_payload, d);
}

void adv_device_peers_init(struct adv_device *d)
{
	d->bell_fd = -1;
	if (is_set(NO_SHM_VARIABLE))
		return;
	d->peers.two_copies = is_set(NO_ONE_COPY_VARIABLE);
	d->shm = adv_shm_create(d->udp, adv_clock_ns);
	if (d->shm) {
		d->bell_fd = d->shm->bell_fd;
		adv_shm_set_homes(d->shm, adv_control_senders(d->control)->home);
	} else {
		adv_warn("packets within this machine use UDP: %s", strerror(errno));
	}
}

/* Returns the first peer whose memory is to be requested; ADV_SLOTS: none. */
static unsigned first_wanted(const struct device_peers *p)
{
	for (unsigned i = 0; i < sizeof(p->wanted); i++)
		if (p->wanted[i])
			return i * 8 + (unsigned)__builtin_ctz(p->wanted[i]);
	return ADV_SLOTS;
}

static void post_query(struct adv_device *d)
{
	struct device_peers *p = &d->peers;

	p->peer = 0;
	p->posted = adv_control_post_pairs(d->control, &p->request, own_slot(d), p->from) == 0;
}

/* Posts the next request, if one is due and none is posted. */
static void post_next(struct adv_device *d)
{
	struct device_peers *p = &d->peers;

	if (p->posted)
		return;
	if (p->query_due) {
		p->query_due = false;
		p->from = 0;
		memset(p->paired, 0, sizeof(p->paired));
		memset(p->ready, 0, sizeof(p->ready));
		post_query(d);
		return;
	}
	p->peer = first_wanted(p);
	if (p->peer == ADV_SLOTS)
		return;
	clear_bit(p->wanted, p->peer);
	p->posted = adv_control_post_pair(d->control, &p->request, own_slot(d), p->peer) == 0;
}

/* Maps the memory of the answer and uses it for packets to `peer`. 0 or errno. */
static int attach_memory(struct adv_device *d, unsigned peer)
{
	struct adv_shm_pair pair;
	int err = adv_control_pair_answer(&d->peers.request, &pair);

	if (!err && d->peers.two_copies)
		pair.peer = 0;
	if (!err)
		err = adv_shm_attach(d->shm, (uint16_t)peer, &pair);
	if (err)
		return err;
	adv_info("packets to slot %u use shared memory, %u bytes in each direction", peer,
		 pair.size);
	/* The peer may already have written to the memory and rung the bell before this device read
	 * the bell. */
	(void)adv_device_progress(d, false);
	return 0;
}

static void receive_pair(struct adv_device *d)
{
	struct device_peers *p = &d->peers;
	unsigned peer = p->peer;
	int err = attach_memory(d, peer);

	if (err == ENOENT) {
		clear_bit(p->met, peer);
		adv_engine_peer_left(d->engine, adv_device_clock(d), (uint16_t)peer);
	} else if (err && err != EAGAIN && err != EALREADY) {
		adv_warn("packets to slot %u use UDP: %s", peer, strerror(err));
	}
	/* Records a refusal: with hundreds of processes, the memory must not be requested again
	 * each time that another process gets some. */
	if (err == ENFILE)
		set_bit(p->refused, peer);
	else
		clear_bit(p->refused, peer);
}

/* Applies a complete query: drops the memory of peers that have exited, and requests memory that is
 * ready. */
static void apply_pairs(struct adv_device *d)
{
	struct device_peers *p = &d->peers;

	for (unsigned peer = 0; peer < ADV_SLOTS; peer++) {
		bool paired = has_bit(p->paired, peer), ready = has_bit(p->ready, peer);

		if (!has_bit(p->met, peer) || (has_bit(p->refused, peer) && !ready))
			continue;
		if (!paired)
			adv_shm_detach(d->shm, (uint16_t)peer);
		if (!paired || ready)
			set_bit(p->wanted, peer);
	}
}

static void receive_query(struct adv_device *d)
{
	struct device_peers *p = &d->peers;

	if (adv_control_pairs_answer(&p->request, &p->from, p->paired, p->ready) != 0)
		return;
	if (p->from < ADV_SLOTS)
		post_query(d);
	else
		apply_pairs(d);
}

void adv_device_peers_answered(struct adv_device *d)
{
	d->peers.posted = d->peers.late = false;
	if (d->peers.peer)
		receive_pair(d);
	else
		receive_query(d);
	post_next(d);
}

void adv_device_peers_wait(struct adv_device *d)
{
	struct device_peers *p = &d->peers;
	uint64_t until = adv_clock_ns() + ANSWER_WAIT;

	while (p->posted && !p->late)
		p->late = !adv_device_wait_for_answer(d, until);
}

void adv_device_meet(struct adv_device *d, const struct adv_gid *dgid, uint32_t dest_qpn)
{
	const _Atomic uint16_t *home = adv_control_senders(d->control)->home;
	unsigned peer = atomic_load(&home[adv_qpn_prefix(dest_qpn & ADV_QPN_MASK)]);

	if (!d->shm || d->gone || peer == own_slot(d) || peer < ADV_SLOT_FIRST ||
	    peer >= ADV_SLOTS || has_bit(d->peers.met, peer) ||
	    !adv_udp_is_own_address(d->udp, dgid))
		return;
	set_bit(d->peers.met, peer);
	set_bit(d->peers.wanted, peer);
	post_next(d);
	/* The first packets should already go through the memory: packets that go by UDP keep later
	 * packets from the memory until the device has sent the peer no packet for a moment. */
	adv_device_peers_wait(d);
}

void adv_device_pairs_changed(struct adv_device *d)
{
	static const uint8_t none[ADV_SLOTS / 8];

	if (!d->shm || memcmp(d->peers.met, none, sizeof(none)) == 0)
		return;
	d->peers.query_due = true;
	post_next(d);
}
