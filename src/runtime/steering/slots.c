/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "runtime/steering/slots.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "runtime/keeper/carrier.h"
#include "runtime/steering/group.h"

static bool is_owned(const struct adv_slot_record *r)
{
	return atomic_load_explicit(&r->owned, memory_order_acquire) != 0;
}

/* Returns the slot that owns the block; 0: none. */
static unsigned block_owner(const struct adv_ledger *l, unsigned block)
{
	return atomic_load_explicit(&l->block[block].slot, memory_order_acquire);
}

/* Counts the slots that this user owns or owned before. No other user gets these slots. */
static unsigned had_by(const struct adv_ledger *l, uid_t uid)
{
	unsigned n = 0;

	for (unsigned i = ADV_SLOT_FIRST; i < l->sockets; i++)
		n += l->slot[i].used_before && l->slot[i].uid == uid;
	return n;
}

/* Returns the user's free slot that was released first, or 0. Sets *count to the number of the
 * user's free slots. */
static unsigned longest_free(const struct adv_ledger *l, uid_t uid, unsigned *count)
{
	unsigned best = 0;

	*count = 0;
	for (unsigned i = ADV_SLOT_FIRST; i < l->sockets; i++) {
		const struct adv_slot_record *r = &l->slot[i];

		if (is_owned(r) || !r->used_before || r->uid != uid)
			continue;
		++*count;
		if (!best || r->freed < l->slot[best].freed)
			best = i;
	}
	return best;
}

/* Returns a slot that was never used, or the number of the next new slot, or 0. */
static unsigned find_unused(const struct adv_ledger *l, unsigned most)
{
	for (unsigned i = ADV_SLOT_FIRST; i < l->sockets; i++)
		if (!l->slot[i].used_before && !is_owned(&l->slot[i]))
			return i;
	return l->sockets < most ? l->sockets : 0;
}

unsigned adv_slots_choose(const struct adv_ledger *l, uid_t uid, unsigned limit, unsigned most,
			  uint64_t now)
{
	unsigned free_ones, fresh, again = longest_free(l, uid, &free_ones);
	uint64_t rest = free_ones < ADV_REST_SLOTS ? ADV_REST_MS : ADV_REST_LEAST;

	if (again && now - l->slot[again].freed_ms >= rest)
		return again;
	fresh = had_by(l, uid) < limit ? find_unused(l, most) : 0;
	return fresh ? fresh : again;
}

/* ---- senders ---- */

/* Returns the first QPN prefix of a target and the number of its prefixes. Targets are slots, then
 * blocks, as in adv_qpn_target(). */
static unsigned first_prefix(unsigned target, unsigned *count)
{
	if (target < ADV_SLOTS) {
		*count = 1;
		return target;
	}
	*count = ADV_BLOCK_PREFIXES;
	return adv_qpn_prefix(adv_block_qpn(target - ADV_SLOTS));
}

static void set_sender(struct adv_daemon *d, unsigned target, uint16_t port, uint16_t home)
{
	unsigned count, first = first_prefix(target, &count);

	for (unsigned i = first; i < first + count; i++) {
		atomic_store(&d->senders->port[i], port);
		atomic_store(&d->senders->home[i], home);
	}
	d->sender_until[target] = 0;
}

/* Sets the time at which the target's sender is removed. Receivers may read the last packets of the
 * sender's process late. */
static void forget_sender_later(struct adv_daemon *d, unsigned target)
{
	d->sender_until[target] = adv_clock_ms() + ADV_SENDER_MS;
	if (!d->senders_at)
		d->senders_at = d->sender_until[target];
}

static void forget_sender_if_late(struct adv_daemon *d, unsigned target, uint64_t now)
{
	uint64_t until = d->sender_until[target];

	if (until && until <= now)
		set_sender(d, target, 0, 0);
	else if (until && (!d->senders_at || until < d->senders_at))
		d->senders_at = until;
}

void adv_slots_forget_senders(struct adv_daemon *d, uint64_t now)
{
	d->senders_at = 0;
	for (unsigned i = ADV_SLOT_FIRST; i < d->sockets; i++)
		forget_sender_if_late(d, i, now);
	for (unsigned i = 0; i < ADV_BLOCKS; i++)
		forget_sender_if_late(d, ADV_SLOTS + i, now);
}

static bool has_sender(const struct adv_daemon *d, unsigned target)
{
	unsigned count;

	return atomic_load(&d->senders->port[first_prefix(target, &count)]) != 0;
}

void adv_slots_resume_senders(struct adv_daemon *d)
{
	memset(d->sender_until, 0, sizeof(d->sender_until));
	d->senders_at = 0;
	for (unsigned i = ADV_SLOT_FIRST; i < d->sockets; i++)
		if (!is_owned(&d->ledger->slot[i]) && has_sender(d, i))
			forget_sender_later(d, i);
	for (unsigned i = 0; i < ADV_BLOCKS; i++)
		if (!block_owner(d->ledger, i) && has_sender(d, ADV_SLOTS + i))
			forget_sender_later(d, ADV_SLOTS + i);
}

void adv_slots_set_sender(struct adv_daemon *d, unsigned slot, uint16_t port)
{
	set_sender(d, slot, port, (uint16_t)slot);
	for (unsigned i = 0; i < ADV_BLOCKS; i++)
		if (block_owner(d->ledger, i) == slot)
			set_sender(d, ADV_SLOTS + i, port, (uint16_t)slot);
}

/* ---- slots ---- */

/* Adds a socket to the group. 0 or errno. */
static int grow_group(struct adv_daemon *d)
{
	int fd, error = adv_group_grow(d->socket[ADV_SLOT_DAEMON], &fd);

	if (error)
		return error;
	error = adv_estate_send_socket(d, fd);
	if (error) { /* the new socket is the group's last, so closing it changes no place of
			another socket */
		close(fd);
		return error;
	}
	d->socket[d->sockets++] = fd;
	d->ledger->sockets = d->sockets;
	(void)adv_carrier_renew(d);
	adv_slots_steer(d);
	return 0;
}

uint32_t adv_slots_assign(struct adv_daemon *d, unsigned slot, pid_t pid, uid_t uid,
			  const char *comm, const char *device)
{
	struct adv_slot_record *r = &d->ledger->slot[slot];
	int error = slot == d->sockets ? grow_group(d) : 0;

	if (error) {
		adv_warn("cannot make another socket for UDP port %d: %s", ADV_ROCE_UDP_PORT,
			 strerror(error));
		return 0;
	}
	if (getrandom(r->token, sizeof(r->token), 0) != (ssize_t)sizeof(r->token))
		return 0;
	set_sender(d, slot, 0, (uint16_t)slot);
	r->pid = (uint32_t)pid;
	r->uid = uid;
	r->used_before = true;
	r->opened_ms = adv_clock_ms();
	snprintf(r->comm, sizeof(r->comm), "%s", comm);
	snprintf(r->device, sizeof(r->device), "%s", device);
	atomic_store_explicit(&r->owned, 1, memory_order_release);
	return adv_group_activate(d->socket[slot]);
}

static void leave_all(struct adv_daemon *d, unsigned slot)
{
	struct adv_slot_record *r = &d->ledger->slot[slot];

	for (unsigned i = 0; i < ADV_SLOT_GROUPS; i++) {
		struct adv_membership *m = &r->membership[i];

		if (m->joined)
			adv_group_member(d->socket[slot], &m->group, m->ifindex, false);
		m->joined = 0;
	}
}

static void add_values(const uint64_t *value, uint64_t *sum)
{
	for (unsigned i = 0; i < ADV_COUNTERS; i++)
		sum[i] += value[i];
}

static void add_counters(int fd, uint64_t *sum)
{
	uint64_t value[ADV_COUNTERS] = {0};

	if (fd && pread(fd, value, sizeof(value), 0) >= 0)
		add_values(value, sum);
}

/* Returns the record of a user's devices of a name; makes it if there is room. */
static struct adv_device_record *find_device_record(struct adv_ledger *l, uint32_t uid,
						    const char *name)
{
	for (unsigned i = 0; i < ADV_LEDGER_DEVICES; i++) {
		struct adv_device_record *r = &l->device[i];

		if (!atomic_load(&r->used)) {
			r->uid = uid;
			snprintf(r->name, sizeof(r->name), "%s", name);
			atomic_store(&r->used, 1);
		}
		if (r->uid == uid && strcmp(r->name, name) == 0)
			return r;
	}
	return NULL;
}

/* Adds the counters of a slot that is released to those of its device and of all. */
static void keep_counters(struct adv_daemon *d, unsigned slot)
{
	const struct adv_slot_record *r = &d->ledger->slot[slot];
	struct adv_device_record *device = find_device_record(d->ledger, r->uid, r->device);

	if (device)
		add_counters(d->counters[slot], device->counted);
	add_counters(d->counters[slot], d->ledger->counted);
}

int adv_slots_make_counters(struct adv_daemon *d, unsigned slot)
{
	const int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
	int saved, fd = memfd_create("adverb-counters", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0)
		return -1;
	if (ftruncate(fd, ADV_COUNTERS * sizeof(uint64_t)) < 0 ||
	    fcntl(fd, F_ADD_SEALS, seals) < 0) {
		saved = errno;
		close(fd);
		errno = saved;
		return -1;
	}
	if (d->counters[slot])
		close(d->counters[slot]);
	d->counters[slot] = fd;
	return fd;
}

void adv_slots_counters(const struct adv_daemon *d, uint64_t *value)
{
	memcpy(value, d->ledger->counted, sizeof(d->ledger->counted));
	for (unsigned i = ADV_SLOT_FIRST; i < d->sockets; i++)
		add_counters(d->counters[i], value);
}

void adv_slots_counters_of_device(const struct adv_daemon *d, const char *device, uint64_t *value)
{
	const struct adv_ledger *l = d->ledger;

	memset(value, 0, ADV_COUNTERS * sizeof(*value));
	for (unsigned i = 0; i < ADV_LEDGER_DEVICES; i++)
		if (atomic_load(&l->device[i].used) && strcmp(l->device[i].name, device) == 0)
			add_values(l->device[i].counted, value);
	for (unsigned i = ADV_SLOT_FIRST; i < d->sockets; i++)
		if (strcmp(l->slot[i].device, device) == 0)
			add_counters(d->counters[i], value);
}

void adv_slots_counters_of(const struct adv_daemon *d, unsigned slot, uint64_t *value)
{
	memset(value, 0, ADV_COUNTERS * sizeof(*value));
	add_counters(d->counters[slot], value);
}

int adv_slots_steer(const struct adv_daemon *d)
{
	struct adv_group_run run[1 + ADV_BLOCKS] = {
		{0, (uint16_t)(d->sockets - 1), ADV_SLOT_DAEMON, true}};
	unsigned runs = 1;
	int error;

	for (unsigned i = 0; i < ADV_BLOCKS; i++) {
		struct adv_group_run *last = &run[runs - 1];
		unsigned slot = block_owner(d->ledger, i), first, count;

		first = first_prefix(ADV_SLOTS + i, &count);
		if (slot && !last->spread && last->socket == slot && last->last + 1u == first)
			last->last = (uint16_t)(last->last + count);
		else if (slot)
			run[runs++] = (struct adv_group_run){(uint16_t)first,
							     (uint16_t)(first + count - 1),
							     (uint16_t)slot, false};
	}
	error = adv_group_steer(d->socket[ADV_SLOT_DAEMON], d->gids, run, runs);
	if (error)
		adv_warn("cannot attach the steering program again: %s", strerror(error));
	return error;
}

static void release_blocks(struct adv_daemon *d, unsigned slot)
{
	for (unsigned i = 0; i < ADV_BLOCKS; i++) {
		struct adv_block_record *r = &d->ledger->block[i];

		if (block_owner(d->ledger, i) != slot)
			continue;
		forget_sender_later(d, ADV_SLOTS + i);
		r->freed = ++d->ledger->releases;
		atomic_store_explicit(&r->slot, 0, memory_order_release);
	}
}

void adv_slots_release(struct adv_daemon *d, unsigned slot)
{
	struct adv_slot_record *r = &d->ledger->slot[slot];

	if (d->counters[slot]) {
		keep_counters(d, slot);
		close(d->counters[slot]);
		d->counters[slot] = 0;
	}
	release_blocks(d, slot);
	forget_sender_later(d, slot);
	leave_all(d, slot);
	adv_group_deactivate(d->socket[slot]);
	explicit_bzero(r->token, sizeof(r->token));
	r->freed = ++d->ledger->releases;
	r->freed_ms = adv_clock_ms();
	atomic_store_explicit(&r->owned, 0, memory_order_release);
	(void)adv_slots_steer(d);
}

/* ---- blocks ---- */

int adv_blocks_choose(const struct adv_ledger *l, uid_t uid, unsigned limit)
{
	unsigned had = 0;
	int best = -1;

	for (unsigned i = 0; i < ADV_BLOCKS; i++)
		had += l->block[i].used_before && l->block[i].uid == uid;
	for (unsigned i = 0; i < ADV_BLOCKS; i++) {
		const struct adv_block_record *r = &l->block[i];

		if (block_owner(l, i) || (r->used_before ? r->uid != uid : had >= limit))
			continue;
		/* A block that was never used has `freed` 0, so it precedes all others. */
		if (best < 0 || r->freed < l->block[best].freed)
			best = (int)i;
	}
	return best;
}

int adv_blocks_assign(struct adv_daemon *d, unsigned block, unsigned slot)
{
	struct adv_block_record *r = &d->ledger->block[block];
	uint16_t port = atomic_load(&d->senders->port[slot]);
	int error;

	r->uid = d->ledger->slot[slot].uid;
	r->used_before = true;
	atomic_store_explicit(&r->slot, slot, memory_order_release);
	error = adv_slots_steer(d);
	if (error) {
		atomic_store_explicit(&r->slot, 0, memory_order_release);
		(void)adv_slots_steer(d);
		return error;
	}
	set_sender(d, ADV_SLOTS + block, port, (uint16_t)slot);
	return 0;
}

unsigned adv_blocks_used(const struct adv_ledger *l, unsigned slot)
{
	unsigned n = 0;

	for (unsigned i = 0; i < ADV_BLOCKS; i++)
		n += block_owner(l, i) && (!slot || block_owner(l, i) == slot);
	return n;
}

bool adv_slots_token_fits(const struct adv_ledger *l, uint32_t slot,
			  const uint8_t token[ADV_CONTROL_TOKEN_LEN])
{
	uint8_t differ = 0;

	if (slot < ADV_SLOT_FIRST || slot >= l->sockets || !is_owned(&l->slot[slot]))
		return false;
	for (unsigned i = 0; i < ADV_CONTROL_TOKEN_LEN; i++)
		differ |= token[i] ^ l->slot[slot].token[i];
	return differ == 0;
}

static struct adv_membership *find_membership(struct adv_slot_record *r,
					      const struct adv_gid *group, uint32_t ifindex)
{
	for (unsigned i = 0; i < ADV_SLOT_GROUPS; i++) {
		struct adv_membership *m = &r->membership[i];

		if (m->joined && m->ifindex == ifindex && adv_gid_equal(&m->group, group))
			return m;
	}
	return NULL;
}

int adv_slots_join(struct adv_daemon *d, unsigned slot, const struct adv_gid *group,
		   uint32_t ifindex)
{
	struct adv_slot_record *r = &d->ledger->slot[slot];
	int error;

	if (find_membership(r, group, ifindex))
		return 0;
	for (unsigned i = 0; i < ADV_SLOT_GROUPS; i++) {
		struct adv_membership *m = &r->membership[i];

		if (m->joined)
			continue;
		/* The membership is recorded before joining, because leaving a group that was not
		 * joined does no harm. */
		m->group = *group;
		m->ifindex = ifindex;
		m->joined = 1;
		error = adv_group_member(d->socket[slot], group, ifindex, true);
		if (error == EADDRINUSE) /* a worker died after joining, before it answered */
			error = 0;
		if (error)
			m->joined = 0;
		return error;
	}
	return ENOBUFS;
}

int adv_slots_leave(struct adv_daemon *d, unsigned slot, const struct adv_gid *group,
		    uint32_t ifindex)
{
	struct adv_membership *m = find_membership(&d->ledger->slot[slot], group, ifindex);
	int error;

	if (!m)
		return EADDRNOTAVAIL;
	error = adv_group_member(d->socket[slot], group, ifindex, false);
	/* If the interface was removed, the kernel has ended the memberships on it. */
	m->joined = 0;
	return error == EADDRNOTAVAIL || error == ENODEV ? 0 : error;
}

unsigned adv_slots_used(const struct adv_ledger *l)
{
	unsigned n = 0;

	for (unsigned i = ADV_SLOT_FIRST; i < l->sockets; i++)
		n += is_owned(&l->slot[i]);
	return n;
}
