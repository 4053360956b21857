/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "runtime/ucma/stream_backlog.h"

#include <string.h>

#include "base/siphash.h"
#include "runtime/ucma/stream_end.h"

#define COUNTS 1024 /* of connections, by source; sources may share one */

uint32_t adv_ucma_source_of(const struct adv_ucma *u, const struct adv_cm_addr *remote)
{
	uint64_t word[2];

	memcpy(word, remote->ip.raw, sizeof(word));
	return (uint32_t)adv_siphash_words(u->streams.key, word, remote->family == AF_INET ? 2 : 1);
}

static bool is_full(const struct adv_ucma_stream *listener)
{
	unsigned n = 0;

	adv_list_for_each(const struct adv_ucma_stream, s, &listener->children, child)
		n++;
	adv_list_for_each(const struct adv_ucma_id, id, &listener->id->requests, request_link)
		n++;
	return n >= listener->backlog;
}

/* Returns the oldest connection of the source that has most; NULL: no source has at least two more
 * than this one. */
static struct adv_ucma_stream *find_surplus(const struct adv_ucma_stream *listener, uint32_t source)
{
	uint16_t count[COUNTS] = {0}, most = 0;

	adv_list_for_each(const struct adv_ucma_stream, s, &listener->children, child)
		if (++count[s->source % COUNTS] > most)
			most = count[s->source % COUNTS];
	if (most < count[source % COUNTS] + 2)
		return NULL;
	adv_list_for_each(struct adv_ucma_stream, s, &listener->children, child)
		if (count[s->source % COUNTS] == most)
			return s;
	return NULL;
}

/* Returns the oldest connection whose request has not arrived. NULL: there is none. A peer sends
 * its request together with the last packet of TCP's handshake, so an honest one is rarely found.
 */
static struct adv_ucma_stream *find_silent(const struct adv_ucma_stream *listener)
{
	adv_list_for_each(struct adv_ucma_stream, s, &listener->children, child)
		if (s->state == ADV_UCMA_STREAM_REQUEST_AWAITED)
			return s;
	return NULL;
}

bool adv_ucma_backlog_make_room(struct adv_ucma_stream *listener, uint32_t source)
{
	struct adv_ucma_stream *s;

	if (!is_full(listener))
		return true;
	s = find_surplus(listener, source);
	if (!s)
		s = find_silent(listener);
	if (s)
		adv_ucma_stream_free(s);
	return s != NULL;
}
