/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "storage/kit/stat_file.h"

#include <errno.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define JSON_MOST (1u << 30)
enum { REPLY_SECONDS = 1 };

/* --- sending --- */

/* Returns a file with the object; -1: there is no memory. */
static int make_file(struct json_object *top)
{
	const char *text = json_object_to_json_string_ext(
		top, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_NOSLASHESCAPE);
	int fd = text ? memfd_create("adverb-stat", MFD_CLOEXEC) : -1;

	if (fd >= 0 && write(fd, text, strlen(text)) != (ssize_t)strlen(text)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

void adv_kit_stat_file_send(struct json_object *top, int fd)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = {0};
	char text[] = "ok";
	struct iovec iov = {text, sizeof(text) - 1};
	struct msghdr m = {.msg_iov = &iov,
			   .msg_iovlen = 1,
			   .msg_control = control.bytes,
			   .msg_controllen = sizeof(control.bytes)};
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);
	int file = make_file(top);

	json_object_put(top);
	if (file < 0)
		return;
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &file, sizeof(int));
	(void)!sendmsg(fd, &m, MSG_DONTWAIT | MSG_NOSIGNAL);
	close(file);
}

/* --- fetching --- */

/* Requests the statistics. Returns a descriptor; -1: the target does not send one. */
static int request_file(int fd)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control;
	char text[8];
	struct iovec iov = {text, sizeof(text)};
	struct msghdr m = {.msg_iov = &iov,
			   .msg_iovlen = 1,
			   .msg_control = control.bytes,
			   .msg_controllen = sizeof(control.bytes)};
	const struct cmsghdr *c;
	int file;

	/* One that is stopped must not hold up a reader of several. */
	adv_kit_control_limit(fd, REPLY_SECONDS);
	if (TEMP_FAILURE_RETRY(send(fd, ADV_KIT_CONTROL_STAT, strlen(ADV_KIT_CONTROL_STAT),
				    MSG_NOSIGNAL)) < 0 ||
	    TEMP_FAILURE_RETRY(recvmsg(fd, &m, MSG_CMSG_CLOEXEC)) <= 0)
		return -1;
	c = CMSG_FIRSTHDR(&m);
	if (!c || c->cmsg_type != SCM_RIGHTS || c->cmsg_len != CMSG_LEN(sizeof(int)))
		return -1;
	memcpy(&file, CMSG_DATA(c), sizeof(int));
	return file;
}

/* Returns the contents of a file. NULL: it cannot be read. */
static char *read_file(int fd)
{
	struct stat st;
	char *text = NULL;
	size_t len;

	if (fstat(fd, &st) != 0 || st.st_size < 0 || st.st_size > JSON_MOST)
		return NULL;
	len = (size_t)st.st_size;
	text = malloc(len + 1);
	if (text && pread(fd, text, len, 0) == (ssize_t)len) {
		text[len] = 0;
		return text;
	}
	free(text);
	return NULL;
}

char *adv_kit_stat_file_fetch(const struct adv_kit_control_kind *kind, const char *name,
			      char why[ADV_KIT_CONTROL_REPLY])
{
	int fd = adv_kit_control_connect(kind, name, why), file;
	char *text = NULL;

	if (fd < 0)
		return NULL;
	file = request_file(fd);
	close(fd);
	if (file >= 0) {
		text = read_file(file);
		close(file);
	}
	if (!text)
		snprintf(why, ADV_KIT_CONTROL_REPLY, "the %s does not reply", kind->noun);
	return text;
}
