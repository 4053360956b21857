/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Segmented sends that the kernel refuses to a destination while it takes the same packets one by
 * one: a tunnel that encrypts, a device without checksums. What goes there is sent singly for some
 * messages, and then a segmented send is tried again; each further refusal doubles their number, so
 * that tries in vain cost next to nothing and none lasts for ever. A send that the kernel does take
 * ends it.
 */
#include "link/udp_internal.h"

#include "base/log.h"

#define PAUSE_FIRST   64 /* messages */
#define PAUSE_LONGEST 4096

static struct udp_refusal *find(struct udp_link *l, const struct adv_gid *dgid)
{
	for (unsigned i = 0; i < l->refusal_count; i++)
		if (adv_gid_equal(&l->refusal[i].dgid, dgid))
			return &l->refusal[i];
	return NULL;
}

/* Where there is no room another one's is taken, which is then tried too soon. */
static struct udp_refusal *add(struct udp_link *l, const struct adv_gid *dgid)
{
	struct udp_refusal *r;

	if (l->refusal_count < UDP_REFUSALS)
		r = &l->refusal[l->refusal_count++];
	else
		r = &l->refusal[l->refusal_next++ % UDP_REFUSALS];
	*r = (struct udp_refusal){.dgid = *dgid, .pause = PAUSE_FIRST / 2};
	return r;
}

bool udp_refusal_holds(struct udp_link *l, const struct adv_gid *dgid)
{
	struct udp_refusal *r = find(l, dgid);

	if (!r || r->left == 0)
		return false;
	r->left--;
	return true;
}

void udp_refusal_note(struct udp_link *l, const struct udp_message *m, int err)
{
	struct udp_refusal *r = find(l, &m->dgid);

	if (!r) {
		adv_info("port %u: a segmented send was refused: %s", m->socket->port,
			 strerror(err));
		r = add(l, &m->dgid);
	} else if (r->left) {
		return; /* built together with the one that was refused before */
	}
	if (r->pause < PAUSE_LONGEST)
		r->pause *= 2;
	r->left = r->pause;
}

void udp_refusal_end(struct udp_link *l, const struct adv_gid *dgid)
{
	struct udp_refusal *r = find(l, dgid);

	if (r)
		*r = l->refusal[--l->refusal_count];
}
