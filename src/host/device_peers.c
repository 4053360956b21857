/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Meeting other processes of this machine, so that packets between us go through memory. Each side
 * asks the daemon when it has a QP that talks to the other's; the memory is there when both have.
 */
#include "host/device_internal.h"

#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/sys.h"
#include "link/shm.h"

#define NO_SHM_VARIABLE "ADVERB_NO_SHM" /* set and not empty: everything goes by UDP */

static bool has_bit(const uint8_t *bits, unsigned i)
{
	return bits[i / 8] >> i % 8 & 1;
}

/* The one that stands for this process, however many it has. */
static unsigned own_slot(const struct adv_device *d)
{
	return d->slot.number;
}

void device_peers_init(struct adv_device *d)
{
	const char *no = getenv(NO_SHM_VARIABLE);

	d->bell_fd = -1;
	if (no && *no)
		return;
	d->shm = adv_shm_create(d->udp, adv_clock_ns);
	if (d->shm) {
		d->bell_fd = d->shm->bell_fd;
		adv_shm_set_homes(d->shm, adv_control_senders(d->control)->home);
	} else {
		adv_warn("packets within this machine use UDP: %s", strerror(errno));
	}
}

/* Asks for the memory; forgets to have asked where asking again makes sense. */
static void ask(struct adv_device *d, unsigned peer)
{
	struct adv_shm_pair pair;
	int err = adv_control_pair(d->control, own_slot(d), peer, &pair);

	if (!err) {
		err = adv_shm_attach(d->shm, (uint16_t)peer, &pair);
		if (!err) {
			adv_info("packets to slot %u use shared memory, %u bytes in each direction",
				 peer, pair.size);
			/* The peer may have written already, and rung when nobody listened. */
			(void)adv_device_progress(d, false);
		}
	}
	if (err == ENOENT) {
		d->met[peer / 8] &= (uint8_t) ~(1u << peer % 8);
		adv_engine_peer_left(d->engine, adv_clock_ns(), (uint16_t)peer);
	} else if (err && err != EAGAIN && err != EALREADY) {
		adv_warn("packets to slot %u use UDP: %s", peer, strerror(err));
	}
	/* With hundreds of processes it would be asked for again each time another one gets it. */
	if (err == ENFILE)
		d->refused[peer / 8] |= (uint8_t)(1u << peer % 8);
	else
		d->refused[peer / 8] &= (uint8_t) ~(1u << peer % 8);
}

void adv_device_meet(struct adv_device *d, const struct adv_gid *dgid, uint32_t dest_qpn)
{
	const _Atomic uint16_t *home = adv_control_senders(d->control)->home;
	unsigned peer = atomic_load(&home[adv_qpn_prefix(dest_qpn & ADV_QPN_MASK)]);

	if (!d->shm || d->gone || peer == own_slot(d) || peer < ADV_SLOT_FIRST ||
	    peer >= ADV_SLOTS || has_bit(d->met, peer) || !adv_udp_is_own_address(d->udp, dgid))
		return;
	d->met[peer / 8] |= (uint8_t)(1u << peer % 8);
	ask(d, peer);
}

void device_pairs_changed(struct adv_device *d)
{
	uint8_t paired[ADV_SLOTS / 8], ready[ADV_SLOTS / 8];
	static const uint8_t nobody[ADV_SLOTS / 8];

	if (!d->shm || memcmp(d->met, nobody, sizeof(nobody)) == 0 ||
	    adv_control_pairs(d->control, own_slot(d), paired, ready) != 0)
		return;
	for (unsigned peer = 0; peer < ADV_SLOTS; peer++) {
		if (!has_bit(d->met, peer) || (has_bit(d->refused, peer) && !has_bit(ready, peer)))
			continue;
		if (!has_bit(paired, peer))
			adv_shm_detach(d->shm, (uint16_t)peer);
		if (!has_bit(paired, peer) || has_bit(ready, peer))
			ask(d, peer);
	}
}
