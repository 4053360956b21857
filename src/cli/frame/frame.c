/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* adverb frame: the table of its two commands. */
#include "cli/frame/frame.h"

static const struct adv_command halves[] = {
	{"build", "Build the bytes of frames from their fields", adv_frame_build_main},
	{"dissect", "Show the fields of frames", adv_frame_dissect_main},
	{NULL, NULL, NULL},
};

int adv_frame_main(int argc, char **argv)
{
	static const struct adv_command_group group = {
		.name = "adverb frame",
		.kind = "frame command",
		.commands = halves,
		.usage = "build|dissect [OPTION...]",
		.about = "Build RoCE frames, v1 and v2, from their fields, and dissect frames. "
			 "Frames are hexadecimal text or a capture.\vCommands:",
		.more = "All fields: " ADV_DOC_DIR "/frame.md",
	};

	return adv_command_dispatch(&group, argc, argv);
}
