/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "cli/exporter/listener.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/number.h"

#define QUEUE 16 /* connections that are not accepted yet */

union address {
	struct sockaddr any;
	struct sockaddr_in four;
	struct sockaddr_in6 six;
};

/* Splits the text into the host, without brackets, and the port. */
static bool split_address(const char *text, char host[INET6_ADDRSTRLEN], uint16_t *port)
{
	const char *colon = strrchr(text, ':'), *begin = text, *end = colon;
	const char *digits = colon ? colon + 1 : text;
	uint64_t number;

	if (!adv_number_read(digits, strlen(digits), UINT16_MAX, &number))
		return false;
	*port = (uint16_t)number;
	if (!colon) {
		strcpy(host, "127.0.0.1");
		return true;
	}
	if (*begin == '[' && end[-1] == ']') {
		begin++;
		end--;
	} else if (memchr(begin, ':', (size_t)(end - begin))) {
		return false; /* an IPv6 address needs brackets */
	}
	return snprintf(host, INET6_ADDRSTRLEN, "%.*s", (int)(end - begin), begin) <
	       INET6_ADDRSTRLEN;
}

static bool parse_address(const char *text, union address *a)
{
	char host[INET6_ADDRSTRLEN];
	uint16_t port;

	memset(a, 0, sizeof(*a));
	if (!split_address(text, host, &port))
		return false;
	if (inet_pton(AF_INET, host, &a->four.sin_addr) == 1) {
		a->four.sin_family = AF_INET;
		a->four.sin_port = htons(port);
		return true;
	}
	a->six.sin6_family = AF_INET6;
	a->six.sin6_port = htons(port);
	return inet_pton(AF_INET6, host, &a->six.sin6_addr) == 1;
}

static void print_address(const union address *a, char text[ADV_LISTENER_TEXT])
{
	char host[INET6_ADDRSTRLEN] = "";

	if (a->any.sa_family == AF_INET) {
		inet_ntop(AF_INET, &a->four.sin_addr, host, sizeof(host));
		snprintf(text, ADV_LISTENER_TEXT, "%s:%u", host, ntohs(a->four.sin_port));
	} else {
		inet_ntop(AF_INET6, &a->six.sin6_addr, host, sizeof(host));
		snprintf(text, ADV_LISTENER_TEXT, "[%s]:%u", host, ntohs(a->six.sin6_port));
	}
}

/* Binds the socket and listens. On success, reads the address back. */
static bool listen_on(int fd, union address *a)
{
	socklen_t len = a->any.sa_family == AF_INET ? sizeof(a->four) : sizeof(a->six);
	const int on = 1;

	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (a->any.sa_family == AF_INET6)
		(void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on));
	return bind(fd, &a->any, len) == 0 && listen(fd, QUEUE) == 0 &&
	       getsockname(fd, &a->any, &len) == 0;
}

int adv_listener_open(const char *text, char bound[ADV_LISTENER_TEXT], char *why, size_t why_len)
{
	union address a;
	int fd;

	if (!parse_address(text, &a)) {
		snprintf(why, why_len,
			 "'%s' is not ADDRESS:PORT, such as 127.0.0.1:9401 or [::1]:9401", text);
		return -1;
	}
	fd = socket(a.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd >= 0 && listen_on(fd, &a)) {
		print_address(&a, bound);
		return fd;
	}
	snprintf(why, why_len, "cannot listen on %s: %s%s", text, strerror(errno),
		 errno == EADDRINUSE ? "; use another port" : "");
	if (fd >= 0)
		close(fd);
	return -1;
}
