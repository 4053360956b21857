/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * locks try|wait FILE START LENGTH
 * locks hold FILE START LENGTH
 *
 * Takes a write lock on a range of a file. try: prints "locked" or "held by another". wait: waits
 * for the range, and prints "locked". hold: as try, and then keeps the lock until it is killed.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	int fd, command;

	if (argc != 5)
		return 2;
	lock.l_start = strtol(argv[3], NULL, 10);
	lock.l_len = strtol(argv[4], NULL, 10);
	command = strcmp(argv[1], "wait") == 0 ? F_OFD_SETLKW : F_OFD_SETLK;
	fd = open(argv[2], O_RDWR | O_CREAT | O_CLOEXEC, 0644);
	if (fd < 0) {
		perror(argv[2]);
		return 1;
	}
	if (fcntl(fd, command, &lock) != 0) {
		if (errno != EAGAIN && errno != EACCES) {
			perror("fcntl");
			return 1;
		}
		puts("held by another");
		return 0;
	}
	puts("locked");
	fflush(stdout);
	if (strcmp(argv[1], "hold") == 0)
		pause();
	return 0;
}
