//! How is a step started, limited, listened to, and made to leave nothing behind?
