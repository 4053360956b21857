/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "storage/kit/address.h"

#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Splits text into host and port; false: it is too long or has another form. */
static bool split_address(const char *text, const char *default_port, char host[256], char port[8])
{
	const char *colon = strrchr(text, ':'), *end = text + strlen(text);
	const char *start = text, *rest = NULL;

	if (text[0] == '[') {
		start = text + 1;
		end = strchr(text, ']');
		if (!end || (end[1] != 0 && end[1] != ':'))
			return false;
		rest = end[1] ? end + 2 : NULL;
	} else if (colon && strchr(text, ':') == colon) {
		end = colon;
		rest = colon + 1;
	}
	if (!rest)
		rest = default_port;
	if (end - start > 255 || end == start || strlen(rest) > 7 || rest[0] == 0)
		return false;
	memcpy(host, start, (size_t)(end - start));
	host[end - start] = 0;
	strcpy(port, rest);
	return true;
}

bool adv_kit_address_parse(const char *text, const char *default_port, bool passive,
			   struct adv_kit_address *out)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = passive ? AI_PASSIVE : 0};
	struct addrinfo *list;
	char host[256];
	int err;

	memset(out, 0, sizeof(*out));
	if (!split_address(text, default_port, host, out->port)) {
		fprintf(stderr,
			"'%s' is not an address: expected ADDRESS, ADDRESS:PORT or "
			"[IPV6ADDRESS]:PORT\n",
			text);
		return false;
	}
	err = getaddrinfo(host, out->port, &hints, &list);
	if (err) {
		fprintf(stderr, "'%s': %s\n", text, gai_strerror(err));
		return false;
	}
	memcpy(&out->sa, list->ai_addr, list->ai_addrlen);
	err = getnameinfo(list->ai_addr, list->ai_addrlen, out->host, sizeof(out->host), NULL, 0,
			  NI_NUMERICHOST);
	freeaddrinfo(list);
	if (err)
		fprintf(stderr, "'%s': %s\n", text, gai_strerror(err));
	return err == 0;
}
