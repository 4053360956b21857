/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Destinations to which the kernel rejects segmented sends, but accepts the same packets singly: an
 * encrypting tunnel, a device without checksums. The link sends a number of messages as single
 * packets to such a destination, and then tries a segmented send again. Each further rejection
 * doubles the number of messages, so that failed tries cost little. When a segmented send succeeds,
 * the link sends all messages segmented again.
 */
#include "runtime/link/udp_internal.h"

#include "base/log.h"

#define PAUSE_FIRST   64 /* messages */
#define PAUSE_LONGEST 4096

static struct udp_refusal *find_refusal(struct udp_link *l, const struct adv_gid *dgid)
{
	for (unsigned i = 0; i < l->refusal_count; i++)
		if (adv_gid_equal(&l->refusal[i].dgid, dgid))
			return &l->refusal[i];
	return NULL;
}

/* Adds an entry for the destination. If the table is full, replaces another entry; the link then
 * tries a segmented send to that entry's destination too early. */
static struct udp_refusal *add_refusal(struct udp_link *l, const struct adv_gid *dgid)
{
	struct udp_refusal *r;

	if (l->refusal_count < UDP_REFUSALS)
		r = &l->refusal[l->refusal_count++];
	else
		r = &l->refusal[l->refusal_next++ % UDP_REFUSALS];
	*r = (struct udp_refusal){.dgid = *dgid, .pause = PAUSE_FIRST / 2};
	return r;
}

bool adv_udp_refusal_holds(struct udp_link *l, const struct adv_gid *dgid)
{
	struct udp_refusal *r = find_refusal(l, dgid);

	if (!r || r->left == 0)
		return false;
	r->left--;
	return true;
}

void adv_udp_refusal_note(struct udp_link *l, const struct udp_message *m, int err)
{
	struct udp_refusal *r = find_refusal(l, &m->flow->dgid);

	if (!r) {
		adv_info("port %u: a segmented send was refused: %s", m->flow->socket->port,
			 strerror(err));
		r = add_refusal(l, &m->flow->dgid);
		adv_udp_memos_forget(l);
	} else if (r->left) {
		return; /* the message was built before the previous rejection */
	}
	if (r->pause < PAUSE_LONGEST)
		r->pause *= 2;
	r->left = r->pause;
}

void adv_udp_refusal_end(struct udp_link *l, const struct adv_gid *dgid)
{
	struct udp_refusal *r = find_refusal(l, dgid);

	if (r)
		*r = l->refusal[--l->refusal_count];
}
