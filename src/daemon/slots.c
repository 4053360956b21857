/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "daemon/slots.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/log.h"
#include "daemon/group.h"

static bool owned(const struct adv_slot_record *r)
{
	return atomic_load_explicit(&r->owned, memory_order_acquire) != 0;
}

/* Slots that are or were this user's, and so nobody else's any more. */
static unsigned had_by(const struct adv_ledger *l, uid_t uid)
{
	unsigned n = 0;

	for (unsigned i = ADV_SLOT_FIRST; i <= ADV_SLOT_LAST; i++)
		n += l->slot[i].used_before && l->slot[i].uid == uid;
	return n;
}

unsigned adv_slots_choose(const struct adv_ledger *l, uid_t uid, unsigned limit)
{
	bool only_own = had_by(l, uid) >= limit;
	unsigned best = 0;

	for (unsigned i = ADV_SLOT_FIRST; i <= ADV_SLOT_LAST; i++) {
		const struct adv_slot_record *r = &l->slot[i];

		if (owned(r) || (r->used_before ? r->uid != uid : only_own))
			continue;
		/* Never used counts as freed at 0: before all others. */
		if (!best || r->freed < l->slot[best].freed)
			best = i;
	}
	return best;
}

/* What its process has sent last is still to be taken for its own by those who read it late. */
static void forget_sender_later(struct adv_daemon *d, unsigned slot)
{
	d->sender_until[slot] = adv_daemon_now() + ADV_SENDER_MS;
	if (!d->senders_at)
		d->senders_at = d->sender_until[slot];
}

static void forget_sender(struct adv_daemon *d, unsigned slot)
{
	atomic_store(&d->gids->sender[slot], 0);
	atomic_store(&d->gids->home[slot], 0);
	d->sender_until[slot] = 0;
}

void adv_slots_forget_senders(struct adv_daemon *d, uint64_t now)
{
	d->senders_at = 0;
	for (unsigned i = ADV_SLOT_FIRST; i <= ADV_SLOT_LAST; i++) {
		uint64_t until = d->sender_until[i];

		if (until && until <= now)
			forget_sender(d, i);
		else if (until && (!d->senders_at || until < d->senders_at))
			d->senders_at = until;
	}
}

uint32_t adv_slots_take(struct adv_daemon *d, unsigned slot, pid_t pid, uid_t uid, const char *comm)
{
	struct adv_slot_record *r = &d->ledger->slot[slot];

	if (getrandom(r->token, sizeof(r->token), 0) != (ssize_t)sizeof(r->token))
		return 0;
	forget_sender(d, slot);
	r->pid = (uint32_t)pid;
	r->uid = uid;
	r->used_before = true;
	r->opened_ms = adv_daemon_now();
	snprintf(r->comm, sizeof(r->comm), "%s", comm);
	atomic_store_explicit(&r->owned, 1, memory_order_release);
	return adv_group_hand_out(d->socket[slot]);
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

static void add_counters(int fd, uint64_t *sum)
{
	uint64_t value[ADV_COUNTERS] = {0};

	if (!fd || pread(fd, value, sizeof(value), 0) < 0)
		return;
	for (unsigned i = 0; i < ADV_COUNTERS; i++)
		sum[i] += value[i];
}

int adv_slots_count(struct adv_daemon *d, unsigned slot)
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
	for (unsigned i = ADV_SLOT_FIRST; i <= ADV_SLOT_LAST; i++)
		add_counters(d->counters[i], value);
}

void adv_slots_steer(const struct adv_daemon *d)
{
	int error = adv_group_steer(d->socket[ADV_SLOT_DAEMON], d->gids);

	if (error)
		adv_warn("cannot attach the steering program again: %s", strerror(error));
}

void adv_slots_release(struct adv_daemon *d, unsigned slot)
{
	struct adv_slot_record *r = &d->ledger->slot[slot];

	if (d->counters[slot]) {
		add_counters(d->counters[slot], d->ledger->counted);
		close(d->counters[slot]);
		d->counters[slot] = 0;
	}
	forget_sender_later(d, slot);
	leave_all(d, slot);
	adv_group_idle(d->socket[slot]);
	explicit_bzero(r->token, sizeof(r->token));
	r->freed = ++d->ledger->releases;
	atomic_store_explicit(&r->owned, 0, memory_order_release);
	adv_slots_steer(d);
}

bool adv_slots_token_fits(const struct adv_ledger *l, uint32_t slot,
			  const uint8_t token[ADV_CONTROL_TOKEN_LEN])
{
	uint8_t differ = 0;

	if (slot < ADV_SLOT_FIRST || slot > ADV_SLOT_LAST || !owned(&l->slot[slot]))
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
		/* Noted first: leaving what was not joined does no harm. */
		m->group = *group;
		m->ifindex = ifindex;
		m->joined = 1;
		error = adv_group_member(d->socket[slot], group, ifindex, true);
		if (error == EADDRINUSE) /* a worker that died after joining, before it answered */
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
	/* An interface that is gone has taken its memberships along. */
	m->joined = 0;
	return error == EADDRNOTAVAIL || error == ENODEV ? 0 : error;
}

unsigned adv_slots_used(const struct adv_ledger *l)
{
	unsigned n = 0;

	for (unsigned i = ADV_SLOT_FIRST; i <= ADV_SLOT_LAST; i++)
		n += owned(&l->slot[i]);
	return n;
}
