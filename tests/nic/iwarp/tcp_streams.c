/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "tcp_streams.h"

#include <stdio.h>

#include <pcap/pcap.h>

#include "../wire/test_util.h"
#include "base/bytes.h"

#define TCP_SYN 0x02

static struct stream *find(struct streams *streams, const struct stream *like)
{
	unsigned i;

	for (i = 0; i < streams->count; i++) {
		struct stream *s = &streams->all[i];

		if (s->saddr == like->saddr && s->daddr == like->daddr && s->sport == like->sport &&
		    s->dport == like->dport)
			return s;
	}
	return NULL;
}

/* Adds an Ethernet frame to its stream. The captures have no gaps and no retransmissions. */
static void add_frame(struct streams *streams, const uint8_t *p, size_t len)
{
	struct stream like, *s;
	const uint8_t *tcp;
	size_t payload;

	if (len < 54 || adv_get_be16(p + 12) != 0x0800 || p[23] != 6)
		return;
	tcp = p + 14 + (p[14] & 0xf) * 4;
	like = (struct stream){.saddr = adv_get_be32(p + 26),
			       .daddr = adv_get_be32(p + 30),
			       .sport = adv_get_be16(tcp),
			       .dport = adv_get_be16(tcp + 2),
			       .next = adv_get_be32(tcp + 4) + 1};
	s = find(streams, &like);
	if (tcp[13] & TCP_SYN) {
		assert_null(s);
		assert_in_range(streams->count, 0, STREAMS_MAX - 1);
		s = &streams->all[streams->count++];
		*s = like;
		s->bytes = malloc(STREAM_MAX);
		assert_non_null(s->bytes);
		return;
	}
	payload = (size_t)(p + 14 + adv_get_be16(p + 16) - tcp) - (tcp[12] >> 4) * 4u;
	if (payload == 0)
		return;
	assert_non_null(s);
	assert_int_equal(adv_get_be32(tcp + 4), s->next);
	assert_in_range(s->len + payload, 1, STREAM_MAX);
	memcpy(s->bytes + s->len, tcp + (tcp[12] >> 4) * 4, payload);
	s->len += payload;
	s->next += (uint32_t)payload;
}

void streams_read(const char *name, struct streams *streams)
{
	char path[512], error[PCAP_ERRBUF_SIZE];
	struct pcap_pkthdr *header;
	const u_char *data;
	pcap_t *pcap;

	snprintf(path, sizeof(path), "%s/%s.pcap", CAPTURES, name);
	pcap = pcap_open_offline(path, error);
	if (!pcap)
		fail_msg("%s", error);
	streams->count = 0;
	while (pcap_next_ex(pcap, &header, &data) == 1)
		add_frame(streams, data, header->caplen);
	pcap_close(pcap);
}

void streams_free(struct streams *streams)
{
	for (unsigned i = 0; i < streams->count; i++)
		free(streams->all[i].bytes);
}
