//! Addresses of the pages. Everything that a lake says goes into them percent-encoded, behind a
//! fixed path of ours: no text of a payload ever begins an address.

use super::question::Question;

/// How links are made for one page.
#[derive(Clone, Copy, Debug)]
pub(super) struct Links {
    /// The lake version that is pinned, and so goes on in every link.
    pub(super) version: Option<i64>,
    /// A file to mail has nobody to ask.
    pub(super) mailed: bool,
}

impl Links {
    /// The address of a page with parameters; those without a value are left out.
    pub(super) fn to(&self, path: &str, parameters: &[(&str, Option<&str>)]) -> String {
        let mut query = url::form_urlencoded::Serializer::new(String::new());
        for (name, value) in parameters {
            if let Some(value) = value {
                query.append_pair(name, value);
            }
        }
        if let Some(version) = self.version {
            query.append_pair("version", &version.to_string());
        }
        match query.finish() {
            query if query.is_empty() => path.to_owned(),
            query => format!("{path}?{query}"),
        }
    }

    /// The address that shows or gives the answer to a question.
    pub(super) fn question(
        &self,
        path: &str,
        question: &Question,
        values: &[Option<String>],
    ) -> String {
        let mut parameters = vec![("q", Some(question.name))];
        let named = question.parameters.iter().enumerate();
        parameters
            .extend(named.map(|(at, name)| (*name, values.get(at).and_then(|v| v.as_deref()))));
        self.to(path, &parameters)
    }

    /// A trajectory, at one of its calls.
    pub(super) fn trajectory(
        &self,
        environment: &str,
        id: &str,
        call: Option<(&str, &str)>,
    ) -> String {
        let place = call.map(|(turn, index)| format!("{turn}.{index}"));
        let parameters = [
            ("environment", Some(environment)),
            ("id", Some(id)),
            ("call", place.as_deref()),
        ];
        let mut address = self.to("/trajectory", &parameters);
        if let Some((turn, index)) = call {
            // Digits and signs only: they are numbers of the lake.
            address.push_str(&format!("#t{turn}.{index}"));
        }
        address
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn payloads_stay_behind_the_question_mark() {
        let links = Links {
            version: Some(3),
            mailed: false,
        };
        let to = links.to(
            "/calls",
            &[("api", Some("javascript:alert(1)//\"><&#")), ("x", None)],
        );
        assert_eq!(
            to,
            "/calls?api=javascript%3Aalert%281%29%2F%2F%22%3E%3C%26%23&version=3"
        );
        assert_eq!(
            links.trajectory("e", "a b", Some(("1", "0"))),
            "/trajectory?environment=e&id=a+b&call=1.0&version=3#t1.0"
        );
    }
}
