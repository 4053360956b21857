/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "cli/capture/streams.h"

#include <stdlib.h>
#include <string.h>

#include "base/siphash.h"
#include "base/table.h"

#define SKEW_SHIFT   20	   /* of sequence numbers, each time that a connection begins */
#define STREAMS_MOST 65536 /* then all are forgotten: those that go on begin again */

/* The addresses of a connection: initiator, responder. */
struct key {
	struct adv_gid gid[2];
	uint16_t port[2];
	uint32_t zero;
};

struct adv_segment_stream {
	struct adv_table_node node;
	struct key key;
	uint64_t process[2]; /* which connection of which source; 0: not captured */
	uint64_t next[2];    /* position that the file has reached; 0: initiator */
	uint64_t from[2];    /* position where it begins */
	unsigned section;
	uint32_t begins; /* times that it has begun */
	bool begun;
	bool written; /* adv_segment_stream_begins() */
};

struct adv_segment_streams {
	struct adv_table table;
};

struct adv_segment_streams *adv_segment_streams_create(void)
{
	struct adv_segment_streams *all = calloc(1, sizeof(*all));

	if (all && adv_table_init(&all->table) == 0)
		return all;
	free(all);
	return NULL;
}

static void forget_streams(struct adv_segment_streams *all)
{
	for (uint32_t i = 0; i < all->table.buckets; i++) {
		adv_list_for_each_safe(struct adv_segment_stream, s, &all->table.bucket[i],
				       node.link) {
			adv_table_remove(&all->table, &s->node);
			free(s);
		}
	}
}

void adv_segment_streams_destroy(struct adv_segment_streams *all)
{
	if (!all)
		return;
	forget_streams(all);
	adv_table_free(&all->table);
	free(all);
}

/* Returns the connection with this key, perhaps a new one. NULL: ENOMEM. */
static struct adv_segment_stream *find_stream(struct adv_segment_streams *all,
					      const struct key *key)
{
	static const uint64_t unkeyed[2];
	uint64_t words[sizeof(*key) / sizeof(uint64_t)], hash;
	struct adv_table_node *n = NULL;
	struct adv_segment_stream *s;

	memcpy(words, key, sizeof(words));
	hash = adv_siphash_words(unkeyed, words, sizeof(words) / sizeof(words[0]));
	while ((n = adv_table_next(&all->table, hash, n))) {
		s = adv_container_of(n, struct adv_segment_stream, node);
		if (memcmp(&s->key, key, sizeof(*key)) == 0)
			return s;
	}
	if (all->table.count >= STREAMS_MOST)
		forget_streams(all);
	s = calloc(1, sizeof(*s));
	if (!s)
		return NULL;
	s->key = *key;
	adv_table_node_init(&s->node);
	adv_table_add(&all->table, &s->node, hash);
	return s;
}

/* The direction of a record: 0: from the initiator. */
static unsigned direction_of(const struct adv_tap_record *record, const struct adv_tap_stream *head)
{
	return !(record->flags & ADV_TAP_OUT) == !!(head->flags & ADV_TAP_INITIATOR);
}

static struct key key_of(const struct adv_tap_record *record, const struct adv_tap_stream *head)
{
	unsigned from = direction_of(record, head);
	struct key key = {.zero = 0};

	key.gid[from] = record->sgid;
	key.gid[!from] = record->dgid;
	key.port[from] = head->sport;
	key.port[!from] = head->dport;
	return key;
}

/* A later connection may have the same addresses. */
static void note_process(struct adv_segment_stream *s, unsigned end, uint64_t process)
{
	if (s->process[end] && s->process[end] != process) {
		s->process[!end] = 0;
		s->next[0] = s->next[1] = 0;
		s->begun = false;
	}
	s->process[end] = process;
}

/* Returns the position of the next FPDU that the file has nothing of. */
static uint64_t begin_from(uint64_t at, uint32_t begin, uint64_t next)
{
	uint64_t from = at + (begin == ADV_TAP_BEGIN_UNKNOWN ? 0 : begin);

	return from > next ? from : next;
}

/* Begins the two directions with the next FPDUs. A dissector takes it for a new connection by its
 * first sequence number. */
static void begin_stream(struct adv_segment_stream *s, unsigned dir,
			 const struct adv_tap_stream *head)
{
	s->from[dir] = begin_from(head->at, head->begin, s->next[dir]);
	s->from[!dir] = begin_from(head->other, head->other_begin, s->next[!dir]);
	memcpy(s->next, s->from, sizeof(s->next));
	s->begins++;
	s->begun = true;
	s->written = false;
}

/* The position that a record acknowledges: what the file has. Another process's record of it may be
 * late. */
static uint64_t find_acknowledged(const struct adv_segment_stream *s, unsigned other,
				  uint64_t position)
{
	if (position > s->next[other])
		return s->next[other];
	return position > s->from[other] ? position : s->from[other];
}

struct adv_segment_stream *adv_segment_streams_take(struct adv_segment_streams *all,
						    unsigned source, unsigned section,
						    const struct adv_tap_record *record,
						    const uint8_t *data,
						    struct adv_segment_place *place)
{
	struct adv_tap_stream head = adv_segment_head(data);
	struct key key = key_of(record, &head);
	struct adv_segment_stream *s = find_stream(all, &key);
	unsigned dir = direction_of(record, &head);
	uint64_t end = head.at + record->payload_len;

	if (!s)
		return NULL;
	note_process(s, !(head.flags & ADV_TAP_INITIATOR),
		     (uint64_t)(source + 1) << 32 | head.number);
	if (!s->begun || s->section != section || head.at > s->next[dir])
		begin_stream(s, dir, &head);
	s->section = section;
	if (end <= s->next[dir])
		return NULL;
	*place = (struct adv_segment_place){
		.skip = head.at < s->next[dir] ? (uint32_t)(s->next[dir] - head.at) : 0,
		.skew = (s->begins - 1) << SKEW_SHIFT,
		.other = find_acknowledged(s, !dir, head.other),
		.from = {s->from[0], s->from[1]},
	};
	s->next[dir] = end;
	return s;
}

bool adv_segment_stream_begins(struct adv_segment_stream *s)
{
	bool begins = !s->written;

	s->written = true;
	return begins;
}
